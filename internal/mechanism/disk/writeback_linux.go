package disk

import (
	"math"
	"slices"
	"time"
)

// PendingLimit and SpoolLimit bound the operations and bytes kept for taking back, as
// a kernel bounds its unwritten data. Beyond a limit, the files that wait longest are
// written back early.
const (
	PendingLimit = 1 << 20 // operations
	SpoolLimit   = 1 << 30 // bytes
)

// tick makes durable what has waited long enough for the kernel to have
// written it, or more than there is room for.
func (t *tree) tick() {
	t.ns.Lock()
	defer t.ns.Unlock()
	if t.cut != nil {
		return
	}
	now := t.clock()
	if t.model.Commit > 0 && t.oldestCommit() <= now-t.model.Commit {
		t.commit(t.seq.Load())
	}
	files := t.pendingFiles()
	ops := 0
	oldest := make(map[*inode]time.Duration, len(files))
	for _, x := range files {
		x.mu.Lock()
		if len(x.ops) > 0 {
			oldest[x] = x.ops[0].at
			ops += len(x.ops)
		}
		if len(x.ops) > 0 && t.model.Writeback > 0 && x.ops[0].at <= now-t.model.Writeback {
			ops -= len(x.ops)
			t.forget(x, x.all())
		}
		x.mu.Unlock()
	}
	if ops+len(t.log) > t.maxOps || t.spool.held() > t.maxSpool {
		t.relieve(files, oldest, ops+len(t.log))
	}
}

// relieve writes the oldest files back until half of the room is free.
func (t *tree) relieve(files []*inode, oldest map[*inode]time.Duration, ops int) {
	if len(t.log) > t.maxOps/2 {
		ops -= len(t.log)
		t.commit(t.seq.Load())
	}
	slices.SortFunc(files, func(a, b *inode) int { return int(oldest[a] - oldest[b]) })
	for _, x := range files {
		if ops <= t.maxOps/2 && t.spool.held() <= t.maxSpool/2 {
			return
		}
		x.mu.Lock()
		ops -= len(x.ops)
		t.forget(x, x.all())
		x.mu.Unlock()
	}
}

// oldestCommit is when the first thing was done that waits for a commit.
func (t *tree) oldestCommit() time.Duration {
	oldest := time.Duration(math.MaxInt64)
	if len(t.log) > 0 {
		oldest = t.log[0].at
	}
	for _, x := range t.concerned() {
		x.mu.Lock()
		if i := t.waits(x); i < len(x.ops) {
			oldest = min(oldest, x.ops[i].at)
		}
		x.mu.Unlock()
	}
	return oldest
}

// waits is the first operation of x that waits for a commit. Hold x.mu.
func (t *tree) waits(x *inode) int {
	if len(x.ops) > 0 && x.ordered >= x.ops[0].seq {
		return 0
	}
	return after(x.ops, t.committed)
}

// cutPower makes nothing durable any more; restorePower takes that back.
func (t *tree) cutPower() {
	t.ns.Lock()
	defer t.ns.Unlock()
	if t.cut == nil {
		t.cut = make(chan struct{})
	}
}

func (t *tree) restorePower() {
	t.ns.Lock()
	defer t.ns.Unlock()
	t.restored()
}

// restored lets those go on that wait for a sync. Hold ns.
func (t *tree) restored() {
	if t.cut != nil {
		close(t.cut)
		t.cut = nil
	}
}

// power is closed when power is back; nil: it is there.
func (t *tree) power() <-chan struct{} {
	t.ns.RLock()
	defer t.ns.RUnlock()
	return t.cut
}
