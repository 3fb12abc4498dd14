package cluster

import (
	"context"
	"time"
)

// exitsEvery is how often a node that is down is looked at for its next process.
const exitsEvery = 20 * time.Millisecond

// An Exit is how a process of a node ended.
type Exit struct {
	State       string // "exited: status 2"
	Asked       bool   // we made it
	OutOfMemory bool   // the kernel did, since there was no memory
}

// Exits tells how each process that the node is ended, one after the other, until
// ctx is done. A node that is no process of this host has none.
func (n *Node) Exits(ctx context.Context, tell func(Exit)) {
	var last instance
	for over := false; !over; {
		p := n.process()
		if p == nil || p == last {
			select {
			case <-ctx.Done():
				over = true
			case <-time.After(exitsEvery):
			}
			continue
		}
		select {
		case <-p.ended():
		case <-ctx.Done():
			over = true
		}
		if p.exited() {
			tell(Exit{State: p.how(), Asked: n.asked(p), OutOfMemory: p.starved()})
			last = p
			if next := p.next(ctx); next != nil {
				n.take(p, next)
			}
		}
	}
}

// take goes on with what somebody else started in place of an instance, unless we started
// another one meanwhile.
func (n *Node) take(p, next instance) {
	n.setting.Lock()
	defer n.setting.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.proc == p {
		n.proc, n.closed = next, nil
	}
}

// condemn notes that we are about to end a process.
func (n *Node) condemn(p instance) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.condemned = p
}

func (n *Node) asked(p instance) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.condemned == p
}
