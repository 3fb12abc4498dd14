package disk

import (
	"math"
	"slices"

	"golang.org/x/sys/unix"
)

// all is a moment after every operation.
func (x *inode) all() uint64 { return math.MaxUint64 }

// forget makes durable what was done to x until a moment. Hold x.mu.
func (t *tree) forget(x *inode, until uint64) {
	n := 0
	for n < len(x.ops) && x.ops[n].seq <= until {
		t.spool.drop(x.ops[n].old)
		x.tail.written(x.ops[n])
		n++
	}
	t.keep(x, x.ops[n:])
}

// keep leaves x these operations. Hold x.mu.
func (t *tree) keep(x *inode, ops []dataOp) {
	if x.ops = ops; len(ops) > 0 {
		return
	}
	x.ops, x.tail = nil, tail{blocks: x.tail.blocks}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.dirty, x)
	delete(t.eager, x)
}

// sync makes a file durable: what was done to it until now. It answers false,
// and nothing is durable, if power was cut meanwhile.
func (t *tree) sync(x *inode, dataOnly bool) (bool, error) {
	t.ns.RLock()
	until := t.seq.Load()
	x.mu.Lock()
	file := x.file
	x.mu.Unlock()
	t.ns.RUnlock()
	if file != nil {
		if err := flush(int(file.Fd()), dataOnly); err != nil {
			return true, err
		}
	}
	return t.synced(x, dataOnly, until), nil
}

// flush is the real sync: what is below should take the time that it takes.
func flush(fd int, dataOnly bool) error {
	if dataOnly {
		return unix.Fdatasync(fd)
	}
	return unix.Fsync(fd)
}

func (t *tree) synced(x *inode, dataOnly bool, until uint64) bool {
	t.ns.RLock()
	if t.cut != nil {
		t.ns.RUnlock()
		return false
	}
	x.mu.Lock()
	t.forget(x, until)
	x.mu.Unlock()
	changed := x.meta.Load()
	if dataOnly {
		changed = x.dataMeta.Load()
	}
	commit := t.model.Journal && changed > t.committed
	t.ns.RUnlock()
	if !commit {
		return true
	}
	t.ns.Lock()
	defer t.ns.Unlock()
	if t.cut != nil {
		return false
	}
	t.commit(until)
	return true
}

// syncDir makes the entries of a directory durable; false as sync.
func (t *tree) syncDir(dir *inode) bool {
	t.ns.Lock()
	defer t.ns.Unlock()
	switch {
	case t.cut != nil:
		return false
	case t.model.Journal:
		if dir.meta.Load() > t.committed {
			t.commit(t.seq.Load())
		}
	default:
		t.keepEntries(closure(t.log, func(op *entryOp) bool {
			return slices.ContainsFunc(op.changes, func(c change) bool { return c.dir == dir })
		}))
	}
	return true
}

// commit makes durable what a journal holds until a moment: entries, sizes without
// unwritten bytes before them, and bytes ordered before the entries. It also settles
// tails. Hold ns.
func (t *tree) commit(until uint64) {
	t.committed = max(t.committed, until)
	if len(t.log) > 0 {
		t.keepEntries(closure(t.log, func(op *entryOp) bool { return op.seq <= until }))
	}
	for _, x := range t.concerned() {
		x.mu.Lock()
		if x.ordered <= until {
			t.forget(x, x.ordered)
		}
		n := leading(x.ops, until)
		if n > 0 {
			t.forget(x, x.ops[n-1].seq)
		}
		t.settle(x, until)
		x.mu.Unlock()
	}
}

// leading is how many changes of size come before any byte.
func leading(ops []dataOp, until uint64) int {
	n := 0
	for n < len(ops) && !ops[n].bytes && ops[n].seq <= until {
		n++
	}
	return n
}

func (t *tree) concerned() []*inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*inode, 0, len(t.eager))
	for x := range t.eager {
		list = append(list, x)
	}
	return list
}

// keepEntries makes these operations of the log durable.
func (t *tree) keepEntries(keep map[*entryOp]bool) {
	if len(keep) == 0 {
		return
	}
	var rest []*entryOp
	for _, op := range t.log {
		if !keep[op] {
			rest = append(rest, op)
		}
	}
	done := t.log
	t.log = rest
	for _, op := range done {
		if !keep[op] {
			continue
		}
		if op.ordered != nil {
			op.ordered.mu.Lock()
			t.forget(op.ordered, op.orderedAt)
			op.ordered.mu.Unlock()
		}
		t.unpin(op)
	}
}

// closure is the operations that are wanted and those that they need: earlier
// ones on the same names, and all earlier ones where directories move.
func closure(log []*entryOp, wanted func(*entryOp) bool) map[*entryOp]bool {
	keep := map[*entryOp]bool{}
	needed := map[slot]bool{}
	everything := false
	for _, op := range slices.Backward(log) {
		take := everything || wanted(op) ||
			slices.ContainsFunc(op.changes, func(c change) bool { return needed[c.slot] })
		if !take {
			continue
		}
		keep[op] = true
		everything = everything || op.alone
		for _, c := range op.changes {
			needed[c.slot] = true
		}
	}
	return keep
}

// syncAll makes everything durable.
func (t *tree) syncAll() bool {
	t.ns.Lock()
	defer t.ns.Unlock()
	if t.cut != nil {
		return false
	}
	t.commit(t.seq.Load())
	for _, x := range t.pendingFiles() {
		x.mu.Lock()
		t.forget(x, x.all())
		x.mu.Unlock()
	}
	return true
}

// pendingFiles are the inodes with something to lose, by number.
func (t *tree) pendingFiles() []*inode {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*inode, 0, len(t.dirty))
	for x := range t.dirty {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b *inode) int { return int(int64(a.id) - int64(b.id)) })
	return list
}
