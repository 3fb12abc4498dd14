package disk

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// An entryOp is a change of directories that is not durable. It survives
// whole or not at all.
type entryOp struct {
	seq     uint64
	at      time.Duration
	changes []change
	alone   bool // it needs all that were before it: directories that move

	ordered   *inode // whose bytes until orderedAt are durable with it
	orderedAt uint64
}

// A change is what a slot held and what it holds.
type change struct {
	slot
	before, after *inode
}

// note puts an operation into the log, after it was done.
func (t *tree) note(op entryOp) uint64 {
	op.seq, op.at = t.seq.Add(1), t.clock()
	for _, c := range op.changes {
		for _, x := range []*inode{c.dir, c.before, c.after} {
			if x != nil {
				x.pins++
				x.meta.Store(op.seq)
			}
		}
	}
	t.log = append(t.log, &op)
	return op.seq
}

// unpin lets go of what an operation named that is durable or was taken back.
func (t *tree) unpin(op *entryOp) {
	for _, c := range op.changes {
		for _, x := range []*inode{c.before, c.after, c.dir} {
			if x != nil {
				x.pins--
				t.reap(x)
			}
		}
	}
}

// make makes what do makes in the backing directory, of one type of mode.
func (t *tree) make(s slot, mode uint32, do func(path string) error) (*inode, error) {
	t.ns.Lock()
	defer t.ns.Unlock()
	if err := t.free(s); err != nil {
		return nil, err
	}
	if !t.usage.room() {
		return nil, noRoom{files: true}
	}
	if err := do(t.at(s)); err != nil {
		return nil, err
	}
	x := t.newInode(mode)
	x.probe = s.dir.probe || isProbe(s.name)
	x.lookups.Add(1) // the kernel's, by the answer
	t.bind(s, x)
	x.dataMeta.Store(t.note(entryOp{changes: []change{{slot: s, after: x}}}))
	t.usage.enter(x)
	return x, nil
}

// free says why a name cannot be made.
func (t *tree) free(s slot) error {
	switch {
	case s.dir.entries[s.name] != nil:
		return unix.EEXIST
	case s.dir != t.root && len(s.dir.places) == 0:
		return unix.ENOENT // it was removed
	}
	return nil
}

// lookup finds a name and counts that the kernel knows it.
func (t *tree) lookup(s slot) *inode {
	t.ns.RLock()
	defer t.ns.RUnlock()
	x := s.dir.entries[s.name]
	if x != nil {
		x.lookups.Add(1)
	}
	return x
}

func (t *tree) link(x *inode, s slot) error {
	t.ns.Lock()
	defer t.ns.Unlock()
	if err := t.free(s); err != nil {
		return err
	}
	if len(x.places) == 0 {
		return unix.ENOENT
	}
	if err := os.Link(t.path(x), t.at(s)); err != nil {
		return err
	}
	x.lookups.Add(1)
	t.bind(s, x)
	t.note(entryOp{changes: []change{{slot: s, after: x}}})
	return nil
}

// remove removes a name: a file's, or an empty directory's.
func (t *tree) remove(s slot, dir bool) error {
	t.ns.Lock()
	defer t.ns.Unlock()
	x := s.dir.entries[s.name]
	if err := removable(x, dir); err != nil {
		return err
	}
	if err := t.take(s, x); err != nil {
		return err
	}
	t.note(entryOp{changes: []change{{slot: s, before: x}}})
	return nil
}

func removable(x *inode, dir bool) error {
	switch {
	case x == nil:
		return unix.ENOENT
	case dir && !x.isDir():
		return unix.ENOTDIR
	case !dir && x.isDir():
		return unix.EISDIR
	case dir && len(x.entries) > 0:
		return unix.ENOTEMPTY
	}
	return nil
}

// take takes x out of a slot, into the grave if it has no other.
func (t *tree) take(s slot, x *inode) error {
	var err error
	if len(x.places) > 1 {
		err = os.Remove(t.at(s))
	} else {
		x.last = t.nameAt(s)
		err = os.Rename(t.at(s), filepath.Join(t.grave, fmt.Sprint(x.id)))
		x.buried = err == nil
	}
	if err == nil {
		t.unbind(s, x)
		t.left(x)
	}
	return err
}

// left counts an inode out that is in the tree no more.
func (t *tree) left(x *inode) {
	if len(x.places) == 0 {
		t.usage.leave(x)
	}
}

// put puts x into a free slot, from the grave or beside its other names.
func (t *tree) put(s slot, x *inode) error {
	var err error
	if x.buried {
		err = os.Rename(filepath.Join(t.grave, fmt.Sprint(x.id)), t.at(s))
		x.buried = err != nil
	} else {
		err = os.Link(t.path(x), t.at(s))
	}
	if err == nil {
		t.bind(s, x)
	}
	return err
}

// rename moves a name over another, or exchanges two, as renameat2.
func (t *tree) rename(from, to slot, flags uint32) error {
	t.ns.Lock()
	defer t.ns.Unlock()
	x, over := from.dir.entries[from.name], to.dir.entries[to.name]
	if err := t.movable(x, over, to, flags); err != nil {
		return err
	}
	if x == over {
		return nil
	}
	if flags&unix.RENAME_EXCHANGE != 0 {
		return t.exchange(from, to, x, over)
	}
	if over != nil {
		if err := t.take(to, over); err != nil {
			return err
		}
	}
	if err := os.Rename(t.at(from), t.at(to)); err != nil {
		return err
	}
	t.unbind(from, x)
	t.bind(to, x)
	op := entryOp{alone: x.isDir(), changes: []change{{slot: from, before: x}, {slot: to, before: over, after: x}}}
	if over != nil && x.isReg() && t.model.Ordered {
		op.ordered, op.orderedAt = x, t.seq.Load()
	}
	t.note(op)
	return nil
}

func (t *tree) movable(x, over *inode, to slot, flags uint32) error {
	switch {
	case x == nil:
		return unix.ENOENT
	case flags&^(unix.RENAME_NOREPLACE|unix.RENAME_EXCHANGE) != 0:
		return unix.EINVAL
	case flags&unix.RENAME_NOREPLACE != 0 && over != nil:
		return unix.EEXIST
	case flags&unix.RENAME_EXCHANGE != 0 && over == nil:
		return unix.ENOENT
	case to.dir != t.root && len(to.dir.places) == 0:
		return unix.ENOENT
	case flags&unix.RENAME_EXCHANGE != 0 || over == nil || over == x:
		return nil
	}
	return removable(over, x.isDir())
}

func (t *tree) exchange(from, to slot, x, over *inode) error {
	if err := unix.Renameat2(unix.AT_FDCWD, t.at(from), unix.AT_FDCWD, t.at(to), unix.RENAME_EXCHANGE); err != nil {
		return err
	}
	t.unbind(from, x)
	t.unbind(to, over)
	t.bind(from, over)
	t.bind(to, x)
	t.note(entryOp{alone: x.isDir() || over.isDir(),
		changes: []change{{from, x, over}, {to, over, x}}})
	return nil
}
