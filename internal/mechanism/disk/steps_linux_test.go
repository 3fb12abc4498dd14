package disk

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// The steps of a random history: each is done to the tree and to the model.

func (h *randomHistory) slot() slot {
	dirs := []*inode{h.tree.root}
	walk(h.tree.root, func(_ slot, x *inode) {
		if x.isDir() {
			dirs = append(dirs, x)
		}
	})
	slices.SortFunc(dirs, func(a, b *inode) int { return int(a.id) - int(b.id) })
	return slot{dirs[h.random.IntN(len(dirs))], string(rune('a' + h.random.IntN(4)))}
}

func (h *randomHistory) file() *inode {
	var files []*inode
	walk(h.tree.root, func(_ slot, x *inode) {
		if x.isReg() {
			files = append(files, x)
		}
	})
	files = append(files, h.opened...) // also unlinked ones
	if len(files) == 0 {
		return nil
	}
	slices.SortFunc(files, func(a, b *inode) int { return int(a.id) - int(b.id) })
	return files[h.random.IntN(len(files))]
}

func (h *randomHistory) step() {
	switch n := h.random.IntN(100); {
	case n < 15:
		h.create()
	case n < 20:
		h.mkdir()
	case n < 25:
		h.link()
	case n < 32:
		h.remove()
	case n < 45:
		h.rename()
	case n < 70:
		h.write()
	case n < 76:
		h.truncate()
	case n < 79:
		h.punch()
	case n < 88:
		h.sync()
	case n < 94:
		h.syncDir()
	case n < 97:
		h.release()
	default:
		h.forget()
	}
}

func (h *randomHistory) note(op refOp) {
	if op.file == nil {
		op.size = 0
	}
	h.model.ops = append(h.model.ops, op)
	if got := h.tree.seq.Load() - h.model.base; got != uint64(len(h.model.ops)) {
		h.fail(fmt.Sprintf("%d operations, want %d", got, len(h.model.ops)))
	}
}

func (h *randomHistory) exists(s slot) error {
	if s.dir.entries[s.name] != nil {
		return unix.EEXIST
	}
	return nil
}

func (h *randomHistory) create() {
	s := h.slot()
	want := h.exists(s)
	h.say("create %s", h.tree.nameAt(s))
	x, err := h.tree.make(s, unix.S_IFREG, func(path string) error { return os.WriteFile(path, nil, 0o600) })
	if h.check(err, want) {
		h.note(refOp{changes: []change{{slot: s, after: x}}, made: x})
	}
}

func (h *randomHistory) mkdir() {
	s := h.slot()
	want := h.exists(s)
	h.say("mkdir %s", h.tree.nameAt(s))
	x, err := h.tree.make(s, unix.S_IFDIR, func(path string) error { return os.Mkdir(path, 0o700) })
	if h.check(err, want) {
		h.note(refOp{changes: []change{{slot: s, after: x}}, made: x})
	}
}

func (h *randomHistory) link() {
	x, s := h.file(), h.slot()
	if x == nil {
		return
	}
	want := h.exists(s)
	if want == nil && len(x.places) == 0 {
		want = unix.ENOENT
	}
	h.say("link %s %s", h.tree.name(x), h.tree.nameAt(s))
	if h.check(h.tree.link(x, s), want) {
		h.note(refOp{changes: []change{{slot: s, after: x}}})
	}
}

func (h *randomHistory) remove() {
	s := h.slot()
	x := s.dir.entries[s.name]
	dir := x != nil && x.isDir()
	var want error
	if x == nil {
		want = unix.ENOENT
	} else if dir && len(x.entries) > 0 {
		want = unix.ENOTEMPTY
	}
	h.say("remove %s", h.tree.nameAt(s))
	if h.check(h.tree.remove(s, dir), want) {
		h.note(refOp{changes: []change{{slot: s, before: x}}})
	}
}

func (h *randomHistory) rename() {
	from, to := h.slot(), h.slot()
	x, over := from.dir.entries[from.name], to.dir.entries[to.name]
	if x == nil || x == over || below(to.dir, x) || over != nil && below(from.dir, over) {
		return // the kernel does not ask for it
	}
	flags := uint32(0)
	if over != nil && h.random.IntN(4) == 0 {
		flags = unix.RENAME_EXCHANGE
	}
	want := error(nil)
	if over != nil && flags == 0 {
		want = removable(over, x.isDir())
	}
	h.say("rename %s %s %d", h.tree.nameAt(from), h.tree.nameAt(to), flags)
	if !h.check(h.tree.rename(from, to, flags), want) {
		return
	}
	op := refOp{changes: []change{{from, x, nil}, {to, over, x}}, moves: x.isDir()}
	if flags != 0 {
		op.changes[0].after = over
		op.moves = op.moves || over.isDir()
	} else if over != nil && x.isReg() {
		op.over = x
	}
	h.note(op)
}

// below says whether dir is x or in it.
func below(dir, x *inode) bool {
	for dir != x {
		if len(dir.places) == 0 {
			return false
		}
		dir = dir.places[0].dir
	}
	return true
}

func (h *randomHistory) open(x *inode) {
	if slices.Contains(h.opened, x) {
		return
	}
	if _, err := h.tree.open(x); err != nil {
		h.fail(err.Error())
		return
	}
	x.lookups.Add(1) // the kernel knows what is open
	h.opened = append(h.opened, x)
}

func (h *randomHistory) write() {
	x := h.file()
	if x == nil {
		return
	}
	h.open(x)
	off := h.random.Int64N(x.size + 1)
	if h.random.IntN(8) == 0 {
		off += 300
	}
	data := strings.Repeat(string(rune('A'+h.random.IntN(26))), 1+h.random.IntN(900))
	h.say("write %s %d %d", h.tree.name(x), off, len(data))
	size := x.size
	_, err := h.tree.write(x, []byte(data), off)
	if h.check(err, nil) {
		h.note(refOp{file: x, off: off, data: data, size: -1, grows: x.size != size})
	}
}

func (h *randomHistory) truncate() {
	x := h.file()
	if x == nil {
		return
	}
	size := h.random.Int64N(x.size + 200)
	if h.random.IntN(2) == 0 {
		size = 0
	}
	h.say("truncate %s %d", h.tree.name(x), size)
	old := x.size
	if h.check(h.tree.truncate(x, size), nil) && size != old {
		h.model.emptied[x] = h.model.emptied[x] || size == 0
		h.note(refOp{file: x, size: size, grows: true})
	}
}

func (h *randomHistory) punch() {
	x := h.file()
	if x == nil || x.size < 2 {
		return
	}
	h.open(x)
	off := h.random.Int64N(x.size - 1)
	n := 1 + h.random.Int64N(x.size-off)
	h.say("punch %s %d %d", h.tree.name(x), off, n)
	err := h.tree.allocate(x, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	if h.check(err, nil) {
		h.note(refOp{file: x, off: off, data: strings.Repeat("\x00", int(n)), size: -1})
	}
}

func (h *randomHistory) sync() {
	x := h.file()
	if x == nil {
		return
	}
	h.open(x)
	dataOnly := h.random.IntN(2) == 0
	h.say("sync %s %t", h.tree.name(x), dataOnly)
	if _, err := h.tree.sync(x, dataOnly); h.check(err, nil) {
		h.model.sync(x, dataOnly)
	}
}

func (h *randomHistory) syncDir() {
	s := h.slot()
	h.say("syncdir %s", h.tree.name(s.dir))
	h.tree.syncDir(s.dir)
	h.model.syncDir(s.dir)
}

// release closes a file.
func (h *randomHistory) release() {
	if len(h.opened) == 0 {
		return
	}
	i := h.random.IntN(len(h.opened))
	x := h.opened[i]
	h.opened = slices.Delete(h.opened, i, i+1)
	h.say("close %s", h.tree.name(x))
	h.tree.released(x)
	h.tree.forgotten(x.id, 1)
	if h.model.emptied[x] && h.tree.model.Ordered {
		h.model.released[x] = len(h.model.ops)
		delete(h.model.emptied, x)
	}
}

// forget is a kernel that forgets everything that is not open.
func (h *randomHistory) forget() {
	h.say("forget")
	var all []*inode
	for _, x := range h.tree.nodes {
		if x != h.tree.root && !slices.Contains(h.opened, x) {
			all = append(all, x)
		}
	}
	for _, x := range all {
		h.tree.forgotten(x.id, uint64(x.lookups.Load()))
	}
}
