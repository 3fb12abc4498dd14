package disk

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A dataOp is a change of a file's bytes or size that is not durable, and how
// to take it back.
type dataOp struct {
	seq           uint64
	at            time.Duration
	off, n        int64 // what it wrote or cleared
	before, after int64 // sizes of the file
	old           kept  // what was in off until before
	bytes         bool  // it wrote bytes
}

// write writes to an open file. It writes less than all of it, or nothing and
// ENOSPC, where the disk is full.
func (t *tree) write(x *inode, data []byte, off int64) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	end := off + int64(len(data))
	if fits := t.usage.fits(x.size, max(x.size, end)); fits < end {
		if fits <= off {
			return 0, noRoom{}
		}
		data, end = data[:fits-off], fits
	}
	err := t.change(x, dataOp{off: off, n: int64(len(data)), after: max(x.size, end), bytes: true}, func(f *os.File) error {
		_, err := f.WriteAt(data, off)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(data), nil
}

// change does one change and notes how to take it back. Hold x.mu; x is open.
func (t *tree) change(x *inode, op dataOp, do func(*os.File) error) error {
	op.before = x.size
	var err error
	if op.off < x.size {
		op.old, err = t.spool.put(x.file, op.off, min(op.off+op.n, x.size)-op.off)
	}
	if err == nil {
		err = do(x.file)
	}
	if err != nil {
		t.spool.drop(op.old)
		return err
	}
	op.seq, op.at = t.seq.Add(1), t.clock()
	x.ops = append(x.ops, op)
	x.meta.Store(op.seq)
	if op.after != x.size {
		x.dataMeta.Store(op.seq)
		t.usage.resize(x, x.size, op.after)
		x.size = op.after
	}
	t.mark(x, !op.bytes || t.model.Tails && op.after != op.before)
	return nil
}

// mark notes that x has something to lose, and whether a commit concerns it.
func (t *tree) mark(x *inode, eager bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirty[x] = struct{}{}
	if eager {
		t.eager[x] = struct{}{}
	}
}

// truncate sets the size of x.
func (t *tree) truncate(x *inode, size int64) error {
	f, err := t.open(x)
	if err != nil {
		return err
	}
	defer t.close(x)
	x.mu.Lock()
	defer x.mu.Unlock()
	if size == x.size {
		return nil
	}
	if t.usage.fits(x.size, size) < size {
		return noRoom{}
	}
	if size == 0 {
		x.emptied = true
	}
	op := dataOp{off: min(size, x.size), after: size}
	op.n = max(0, x.size-size)
	return t.change(x, op, func(*os.File) error { return f.Truncate(size) })
}

// allocate is fallocate of an open file. Blocks beyond the size are not modelled,
// because no one can read them.
func (t *tree) allocate(x *inode, mode uint32, off, n int64) error {
	const clears = unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_ZERO_RANGE
	if mode&^(clears|unix.FALLOC_FL_KEEP_SIZE) != 0 {
		return unix.EOPNOTSUPP // it moves what is behind
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if mode&unix.FALLOC_FL_PUNCH_HOLE == 0 && t.usage.fits(x.size, max(x.size, off+n)) < off+n {
		return noRoom{}
	}
	op := dataOp{after: x.size}
	if mode&unix.FALLOC_FL_KEEP_SIZE == 0 {
		op.after = max(x.size, off+n)
	}
	if mode&clears != 0 {
		op.off, op.n, op.bytes = off, n, true
	} else {
		op.off = op.after
	}
	do := func(f *os.File) error { return unix.Fallocate(int(f.Fd()), mode, off, n) }
	if op.n == 0 && op.after == x.size {
		return do(x.file)
	}
	return t.change(x, op, do)
}

// read reads of an open file; what is durable and what is not lie in it together.
func (t *tree) read(x *inode, buf []byte, off int64) (int, error) {
	x.mu.Lock()
	f, size := x.file, x.size
	x.mu.Unlock()
	if off >= size {
		return 0, nil
	}
	buf = buf[:min(int64(len(buf)), size-off)]
	return unix.Pread(int(f.Fd()), buf, off)
}

// released is the last close of a file.
func (t *tree) released(x *inode) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.opens == 1 && x.emptied && t.model.Ordered {
		x.ordered, x.emptied = t.seq.Load(), false
		if len(x.ops) > 0 {
			t.mark(x, true)
		}
	}
	t.closeLocked(x)
}

// undo takes back all operations from number keep on, the last one first.
// Hold x.mu and ns.
func (t *tree) undo(x *inode, keep int) error {
	if keep == len(x.ops) {
		return nil
	}
	f, err := t.openLocked(x)
	if err != nil {
		return err
	}
	defer t.closeLocked(x)
	for i := len(x.ops) - 1; i >= keep; i-- {
		if err := t.undoOp(x, f, x.ops[i], 0); err != nil {
			return err
		}
	}
	clear(x.ops[keep:])
	x.ops = x.ops[:keep]
	return nil
}

// undoOp takes one operation back but for its first part, of that many bytes.
func (t *tree) undoOp(x *inode, f *os.File, op dataOp, part int64) error {
	size := op.before
	if part > 0 {
		size = max(op.before, op.off+part)
	}
	var first []byte
	if part > 0 {
		first = make([]byte, part)
		if _, err := f.ReadAt(first, op.off); err != nil {
			return err
		}
	}
	for _, size := range []int64{size, x.tail.without(op, size)} { // shorter, and then with zeros
		if size != x.size {
			if err := f.Truncate(size); err != nil {
				return err
			}
			x.size = size
		}
	}
	if op.old.n > 0 {
		if err := t.spool.write(op.old, f, op.off); err != nil {
			return err
		}
		t.spool.drop(op.old)
	}
	if part > 0 {
		_, err := f.WriteAt(first, op.off)
		return err
	}
	return nil
}

// lose takes back everything that is not durable and keeps the size. A file is left
// so after a failed fsync if the kernel believes its pages written. It returns the
// number of bytes lost.
func (t *tree) lose(x *inode) (int64, error) {
	t.ns.RLock()
	defer t.ns.RUnlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	var lost int64
	for _, op := range x.ops {
		if op.bytes {
			lost += op.n
		}
	}
	f, err := t.openLocked(x)
	if err != nil {
		return 0, err
	}
	defer t.closeLocked(x)
	size := x.size
	if err := t.undo(x, 0); err != nil {
		return 0, err
	}
	if size == x.size {
		return lost, nil
	}
	op := dataOp{off: min(size, x.size), n: max(0, x.size-size), after: size}
	usage := x.size
	err = t.change(x, op, func(*os.File) error { return f.Truncate(size) })
	t.usage.resize(x, size, usage) // undo does not count, change does
	return lost, err
}
