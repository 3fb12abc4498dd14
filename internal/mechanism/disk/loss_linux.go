package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// losses are what a crash takes from the view of the broker.
type losses struct {
	own, probes, kept Loss
	data              []Change
	entries           []Change
	files             []*inode // of data
	slots             []change // of entries
	budget            *int64   // bytes that may still be hashed
}

// hashBudget is how many bytes are hashed for one report.
const hashBudget = 4 * HashLimit

// stale is what the kernel must not believe any more.
type stale struct {
	files []uint64
	names []staleName
}

type staleName struct {
	dir  uint64
	name string
}

// loss compares what the broker sees with what would be left. A file that was made
// and removed again, and never durable, is no loss. Hold ns.
func (t *tree) loss(f survivors) losses {
	budget := int64(hashBudget)
	l := losses{budget: &budget}
	for _, x := range t.pendingFiles() {
		if len(x.places) > 0 {
			l.addFile(t, x, f)
		}
	}
	l.slots = t.differ(f.entries)
	for _, c := range l.slots {
		l.addEntry(t, c)
	}
	l.kept.Entries = len(t.differ(nil)) - len(l.slots)
	return l
}

func (l *losses) addFile(t *tree, x *inode, f survivors) {
	x.mu.Lock()
	defer x.mu.Unlock()
	keep := f.files[x]
	c := Change{Path: t.name(x), Kind: "data", Probe: x.probe, Writes: len(x.ops) - keep}
	for i, op := range x.ops {
		switch {
		case !op.bytes:
		case i < keep:
			l.kept.Bytes += op.n
		case i == keep && x == f.torn:
			l.kept.Bytes += f.part
			c.Bytes += op.n - f.part
		default:
			c.Bytes += op.n
		}
	}
	if keep > 0 {
		l.kept.Files++
	}
	if c.Writes == 0 {
		return
	}
	to := l.of(x.probe)
	to.Files++
	to.Bytes += c.Bytes
	l.data = append(l.data, c)
	l.files = append(l.files, x)
}

func (l *losses) addEntry(t *tree, c change) {
	probe := c.dir.probe || isProbe(c.name)
	kind := "replaced"
	switch {
	case c.after == nil:
		kind = "created"
	case c.before == nil:
		kind = "removed"
	}
	l.of(probe).Entries++
	name := t.nameAt(c.slot)
	if len(c.dir.places) == 0 && c.dir != t.root {
		name = c.dir.last + "/" + c.name
	}
	l.entries = append(l.entries, Change{Path: name, Kind: kind, Probe: probe})
}

func (l *losses) of(probe bool) *Loss {
	if probe {
		return &l.probes
	}
	return &l.own
}

// list shows the broker's own changes first, and how many it has no room for.
func (t *tree) list(l losses) ([]Change, int) {
	all := slices.Concat(l.entries, l.data)
	slices.SortStableFunc(all, func(a, b Change) int {
		switch {
		case a.Probe == b.Probe:
			return strings.Compare(a.Path, b.Path)
		case b.Probe:
			return -1
		}
		return 1
	})
	omitted := max(0, len(all)-ListLimit)
	all = all[:len(all)-omitted]
	for i := range all {
		all[i].Before = t.stateAt(all[i].Path, l.budget)
	}
	return all, omitted
}

// stateAt is what the file of a path holds, nil where there is none.
func (t *tree) stateAt(name string, budget *int64) *State {
	path := filepath.Join(t.live, name)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	s := &State{Size: info.Size()}
	if s.Size > HashLimit || s.Size > *budget {
		return s
	}
	*budget -= s.Size
	s.SHA256, _ = hashFile(path) // empty where it cannot be read
	return s
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func (t *tree) stale(l losses) stale {
	var s stale
	for _, x := range l.files {
		s.files = append(s.files, x.id)
	}
	for _, c := range l.slots {
		s.names = append(s.names, staleName{c.dir.id, c.name})
	}
	return s
}

// report is what a power loss would take now. Hold ns.
func (t *tree) report() Pending {
	l := t.loss(survivors{})
	p := Pending{Loss: l.own, Probes: l.probes}
	p.List, p.Omitted = t.list(l)
	oldest := t.clock()
	if len(t.log) > 0 {
		oldest = t.log[0].at
	}
	p.Operations = len(t.log)
	for _, x := range t.pendingFiles() {
		x.mu.Lock()
		if p.Operations += len(x.ops); len(x.ops) > 0 {
			oldest = min(oldest, x.ops[0].at)
		}
		x.mu.Unlock()
	}
	p.Oldest = t.clock() - oldest
	return p
}
