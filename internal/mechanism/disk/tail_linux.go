package disk

import "sort"

// A tail is how long a file is at least where bytes that were appended to it
// are lost: their size was committed without them.
type tail struct {
	blocks  int64  // end of the blocks that the file has on the disk
	size    int64  // that was committed
	until   uint64 // with the operations until then
	scanned uint64 // until which operation size accounts for all blocks
}

// blockSize is that of ext4.
const blockSize = 4096

func roundUp(n int64) int64 { return (n + blockSize - 1) / blockSize * blockSize }

// written accounts for an operation that is durable.
func (l *tail) written(op dataOp) {
	end := roundUp(min(op.off+op.n, op.after))
	switch {
	case op.after < op.before:
		l.blocks = min(l.blocks, roundUp(op.after))
	case op.bytes:
		l.blocks = max(l.blocks, end)
	}
	l.scanned = 0
}

// settle notes the size that a commit gives x. A write counts only as far as the file
// has blocks already; any other change of size counts in full. If x shrinks, nothing
// is noted: more is lost then than need be. Hold x.mu.
func (t *tree) settle(x *inode, until uint64) {
	if !t.model.Tails || len(x.ops) == 0 {
		return
	}
	l := x.tail
	if l.scanned == 0 {
		size := x.ops[0].before
		if x.ops[0].seq <= l.until {
			size = max(size, l.size)
		}
		l.size = size
	}
	for _, op := range x.ops[after(x.ops, l.scanned):] {
		switch {
		case op.seq > until:
			x.tail = l
			return
		case op.after < op.before:
			return
		case op.bytes:
			l.size = max(l.size, min(op.after, l.blocks))
		default:
			l.size = max(l.size, op.after)
		}
		l.until, l.scanned = max(l.until, op.seq), op.seq
	}
	x.tail = l
}

// after is the index of the first operation after a moment.
func after(ops []dataOp, seq uint64) int {
	return sort.Search(len(ops), func(i int) bool { return ops[i].seq > seq })
}

// without is the size of x without an operation and all after it.
func (l tail) without(op dataOp, size int64) int64 {
	if op.seq <= l.until {
		return max(size, l.size)
	}
	return size
}
