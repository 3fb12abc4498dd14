package disk

import (
	"sync"

	"golang.org/x/sys/unix"
)

// noRoom is ENOSPC by the limit, of files or else of bytes. That of the disk
// below is none.
type noRoom struct{ files bool }

func (noRoom) Error() string { return unix.ENOSPC.Error() }
func (noRoom) Unwrap() error { return unix.ENOSPC }

const block = 4096

func blocks(size int64) int64 { return (size + block - 1) / block * block }

// usage counts what the broker has on its disk, and keeps it below the limit.
type usage struct {
	mu  sync.Mutex
	now Usage
}

// enter counts an inode in. One that is counted out, or was left out of a
// recount, costs and frees nothing, however late it is forgotten.
func (u *usage) enter(x *inode) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !x.counted {
		x.counted = true
		u.now.Bytes += blocks(x.size)
		u.now.Inodes++
	}
}

// leave counts an inode out.
func (u *usage) leave(x *inode) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if x.counted {
		x.counted = false
		u.now.Bytes -= blocks(x.size)
		u.now.Inodes--
	}
}

// resize counts a change of size.
func (u *usage) resize(x *inode, from, to int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if x.counted {
		u.now.Bytes += blocks(to) - blocks(from)
	}
}

// fits is how much of the way from one size to another there is room for. A
// file never shrinks for want of room.
func (u *usage) fits(from, to int64) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.now.Limit.Bytes == 0 || blocks(to) <= blocks(from) {
		return to
	}
	free := max(0, u.now.Limit.Bytes-u.now.Bytes)
	if blocks(to)-blocks(from) <= free {
		return to
	}
	return max(from, min(to, (blocks(from)+free)/block*block))
}

// room says whether there may be one inode more.
func (u *usage) room() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.now.Limit.Inodes == 0 || u.now.Inodes < u.now.Limit.Inodes
}

func (u *usage) limit(l Limit) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.now.Limit = l
}

func (u *usage) read() Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.now
}

// recount counts anew what is in the tree. Hold ns.
func (t *tree) recount() {
	t.usage.mu.Lock()
	defer t.usage.mu.Unlock()
	t.usage.now.Bytes, t.usage.now.Inodes = 0, 0
	for _, x := range t.nodes {
		x.counted = false
	}
	walk(t.root, func(_ slot, x *inode) {
		if !x.counted {
			x.counted = true
			t.usage.now.Bytes += blocks(x.size)
			t.usage.now.Inodes++
		}
	})
}
