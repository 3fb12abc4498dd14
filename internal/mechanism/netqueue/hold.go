package netqueue

import (
	"container/heap"
	"sync"
	"time"
)

// A hold has the packets that wait, by when their time is over.
type hold struct {
	mu   sync.Mutex
	list waiting
	open bool          // nothing is held any more
	over bool          // nothing comes any more
	wake chan struct{} // the next one's time changed
}

type waiter struct {
	due time.Time
	id  uint32
}

func newHold() *hold { return &hold{wake: make(chan struct{}, 1)} }

// put holds a packet; false: nothing is held any more.
func (h *hold) put(id uint32, due time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open {
		return false
	}
	heap.Push(&h.list, waiter{due, id})
	if h.list[0].id == id {
		h.nudge()
	}
	return true
}

// due takes out the packets whose time is over, in order, all of them once the
// hold is open. Next is when it is over for the next one, zero where none is
// held.
func (h *hold) due(now time.Time, ids []uint32) (_ []uint32, next time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.list) > 0 {
		if !h.open && h.list[0].due.After(now) {
			return ids, h.list[0].due
		}
		ids = append(ids, heap.Pop(&h.list).(waiter).id)
	}
	return ids, time.Time{}
}

// release lets all go that is held or will be.
func (h *hold) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = true
	h.nudge()
}

// end tells that nothing comes any more.
func (h *hold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open, h.over = true, true
	h.nudge()
}

func (h *hold) ended() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over && len(h.list) == 0
}

func (h *hold) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.list)
}

func (h *hold) nudge() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// waiting is a heap: the earliest first, of those the one that came first.
type waiting []waiter

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	if w[i].due.Equal(w[j].due) {
		return w[i].id < w[j].id
	}
	return w[i].due.Before(w[j].due)
}
func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)   { *w = append(*w, x.(waiter)) }
func (w *waiting) Pop() any {
	old := *w
	last := old[len(old)-1]
	*w = old[:len(old)-1]
	return last
}
