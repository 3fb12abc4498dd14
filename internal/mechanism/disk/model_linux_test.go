package disk

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A refModel computes the expected tree in the plainest way. It keeps every operation
// with its effect, and after a crash it repeats those that survive.
type refModel struct {
	model    Model
	root     *inode
	contents map[*inode]string // at the beginning
	blocks   map[*inode]int64  // the same: how far it has any; the tree's word, bytes do not show it
	names    map[slot]*inode   // at the beginning
	ops      []refOp           // since; number i is operation i+base+1 of the tree
	base     uint64            //
	commit   int               // how many of ops are committed
	released map[*inode]int    // closed after it was emptied, after so many of ops
	emptied  map[*inode]bool   //
}

// A refOp is one operation: of bytes or of names.
type refOp struct {
	file    *inode
	off     int64
	data    string
	size    int64 // >= 0: it sets the size, without bytes
	grows   bool  // its size changed
	changes []change
	moves   bool
	over    *inode // renamed over another file
	made    *inode
	durable bool
	tail    int64 // how long the file is at least without it
}

func newRefModel(t *tree) *refModel {
	m := &refModel{model: t.model, root: t.root}
	m.reset(t, map[*inode]string{}, map[slot]*inode{})
	return m
}

func (m *refModel) reset(t *tree, contents map[*inode]string, names map[slot]*inode) {
	m.contents, m.names, m.ops, m.commit = contents, names, nil, 0
	m.base = t.seq.Load()
	m.blocks = map[*inode]int64{}
	for x := range contents {
		m.blocks[x] = x.tail.blocks
	}
	m.released, m.emptied = map[*inode]int{}, map[*inode]bool{}
}

func (m *refModel) sync(x *inode, dataOnly bool) {
	for i := range m.ops {
		if m.ops[i].file == x {
			m.ops[i].durable = true
		}
	}
	if !m.model.Journal {
		return
	}
	for i := m.commit; i < len(m.ops); i++ {
		op := m.ops[i]
		concerns := op.file == x && (!dataOnly || op.grows) || dataOnly && op.made == x || !dataOnly && op.names(x)
		if concerns {
			m.commitAll()
			return
		}
	}
}

func (op refOp) names(x *inode) bool {
	return slices.ContainsFunc(op.changes, func(c change) bool { return c.before == x || c.after == x || c.dir == x })
}

func (m *refModel) commitAll() {
	for i := range m.ops {
		if m.ops[i].file == nil {
			m.ops[i].durable = true
			m.orderedBefore(i)
		}
	}
	for x, n := range m.released {
		m.upTo(x, n)
	}
	blocked := map[*inode]bool{} // by bytes that are not written
	for i := range m.ops {
		if op := &m.ops[i]; op.file != nil && !op.durable && !blocked[op.file] {
			if op.size >= 0 {
				op.durable = true
			} else {
				blocked[op.file] = true
			}
		}
	}
	if m.model.Tails {
		for x := range blocked {
			m.settle(x)
		}
	}
	m.commit = len(m.ops)
}

// settle is what a commit makes of the size of a file with bytes to lose.
func (m *refModel) settle(x *inode) {
	const block = 4096
	up := func(n int) int { return (n + block - 1) / block * block }
	seen := m.contents[x]
	size, blocks := len(seen), int(m.blocks[x])
	first := true
	var pending []*refOp
	for i := range m.ops {
		op := &m.ops[i]
		if op.file != x {
			continue
		}
		before := len(seen)
		seen = op.do(seen, len(op.data))
		switch shrinks := len(seen) < before; {
		case op.durable:
			size = len(seen)
			if shrinks {
				blocks = min(blocks, up(size))
			} else if op.size < 0 {
				blocks = max(blocks, up(int(op.off)+len(op.data)))
			}
			continue
		case shrinks:
			return
		case op.size >= 0:
			size = max(size, len(seen))
		default:
			size = max(size, min(len(seen), blocks))
		}
		if first {
			size = max(size, int(op.tail))
		}
		first = false
		pending = append(pending, op)
	}
	for _, op := range pending {
		op.tail = max(op.tail, int64(size))
	}
}

func (m *refModel) orderedBefore(i int) {
	if x := m.ops[i].over; x != nil && m.model.Ordered {
		m.upTo(x, i)
	}
}

func (m *refModel) upTo(x *inode, n int) {
	for i := range n {
		if m.ops[i].file == x {
			m.ops[i].durable = true
		}
	}
}

func (m *refModel) syncDir(dir *inode) {
	if m.model.Journal {
		if slices.ContainsFunc(m.ops[m.commit:], func(op refOp) bool { return op.names(dir) }) {
			m.commitAll()
		}
		return
	}
	for i := range m.ops {
		if slices.ContainsFunc(m.ops[i].changes, func(c change) bool { return c.dir == dir }) {
			m.ops[i].durable = true
		}
	}
	for again := true; again; {
		again = false
		for i := range m.ops {
			for j := range i {
				if m.ops[i].durable && m.ops[i].file == nil && m.ops[j].file == nil && !m.ops[j].durable && m.needs(i, j) {
					m.ops[j].durable, again = true, true
				}
			}
		}
	}
}

func (m *refModel) needs(i, j int) bool {
	return m.ops[i].moves || slices.ContainsFunc(m.ops[i].changes, func(a change) bool {
		return slices.ContainsFunc(m.ops[j].changes, func(b change) bool { return a.slot == b.slot })
	})
}

// after is what is left if these operations survive beside the durable ones.
func (m *refModel) after(f survivors) (map[*inode]string, map[slot]*inode) {
	contents, names := maps.Clone(m.contents), maps.Clone(m.names)
	entries := map[uint64]bool{}
	for op := range f.entries {
		entries[op.seq] = true
	}
	left := map[*inode]int{}
	tails := map[*inode]int{} // of the first operation that does not survive
	for i, op := range m.ops {
		if op.file == nil {
			if op.durable || entries[m.base+uint64(i)+1] {
				for _, c := range op.changes {
					names[c.slot] = c.after
				}
			}
			continue
		}
		n := left[op.file]
		if !op.durable {
			left[op.file]++
		}
		switch {
		case op.durable || n < f.files[op.file]:
			contents[op.file] = op.do(contents[op.file], len(op.data))
		case n == f.files[op.file] && f.torn == op.file:
			contents[op.file] = op.do(contents[op.file], int(f.part))
		}
		if !op.durable && n == f.files[op.file] {
			tails[op.file] = int(op.tail)
		}
	}
	for x, size := range tails {
		contents[x] += strings.Repeat("\x00", max(0, size-len(contents[x])))
	}
	return contents, names
}

func (op refOp) do(s string, n int) string {
	if op.size >= 0 {
		return (s + strings.Repeat("\x00", max(0, int(op.size)-len(s))))[:op.size]
	}
	end := int(op.off) + n
	s += strings.Repeat("\x00", max(0, end-len(s)))
	return s[:op.off] + op.data[:n] + s[end:]
}

// paths is a directory as a list: a line each.
func (m *refModel) paths(contents map[*inode]string, names map[slot]*inode) []string {
	var list []string
	var visit func(dir *inode, path string)
	visit = func(dir *inode, path string) {
		for s, x := range names {
			switch {
			case s.dir != dir || x == nil:
			case x.isDir():
				list = append(list, path+s.name+"/")
				visit(x, path+s.name+"/")
			default:
				list = append(list, fmt.Sprintf("%s%s %q", path, s.name, contents[x]))
			}
		}
	}
	visit(m.root, "")
	slices.Sort(list)
	return list
}

func onDisk(t testing.TB, root string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			list = append(list, name+"/")
			return nil
		}
		b, err := os.ReadFile(path)
		list = append(list, fmt.Sprintf("%s %q", name, b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// memory is a directory whose syncs cost nothing, if there is one.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "rmq-disk-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newTestTree(t testing.TB, dir string, model Model) *tree {
	t.Helper()
	var now time.Duration
	tr, err := newTree(dir, model, func() time.Duration { now++; return now })
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func same(a, b []string) string {
	if slices.Equal(a, b) {
		return ""
	}
	var out bytes.Buffer
	for _, s := range a {
		if !slices.Contains(b, s) {
			fmt.Fprintf(&out, "  should be there: %.200s\n", s)
		}
	}
	for _, s := range b {
		if !slices.Contains(a, s) {
			fmt.Fprintf(&out, "  should not: %.200s\n", s)
		}
	}
	return out.String()
}
