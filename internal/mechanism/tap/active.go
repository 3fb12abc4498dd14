package tap

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// maxLast is how many packets a count names.
const maxLast = 12

// An active rule is one that is in place.
type active struct {
	Rule
	done chan struct{} // closed when it goes

	mu      sync.Mutex
	counted Count
	marked  map[*conn]bool // connections that are closed when it goes
}

func newActive(r Rule) *active {
	return &active{Rule: r, done: make(chan struct{}), marked: map[*conn]bool{}}
}

func (a *active) count() Count {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.counted
	c.Last, c.At = slices.Clone(c.Last), maps.Clone(c.At)
	return c
}

// hits reports whether the rule acts on a packet of a connection, and counts it. On
// the connection of a probe it hits only the one packet that the probe is about.
func (a *active) hits(c *conn, way Direction, p packet) bool {
	if c.probe != "" {
		return c.probe == a.Fault && c.heading == way && c.aim.CompareAndSwap(int32(p.kind), 0)
	}
	id, ok := c.client()
	if !ok || !a.covers(c.node, id) || !a.chooses(way, p) {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counted.Chosen++
	if !a.strikes(a.counted.Chosen) {
		return false
	}
	a.acted(c.node, fmt.Sprintf("%s of %s", p, id))
	if a.Do == Drop || a.Do == Mutate {
		a.marked[c] = true
	}
	return true
}

// acted counts one more; mu is held.
func (a *active) acted(node, what string) {
	if a.counted.At == nil {
		a.counted.At = map[string]int64{}
	}
	a.counted.At[node]++
	a.counted.Last = append(a.counted.Last, what)
	if len(a.counted.Last) > maxLast {
		a.counted.Last = a.counted.Last[1:]
	}
}

// note counts one more connection.
func (a *active) note(c *conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.acted(c.node, "connection of "+c.id)
}

// begin does what a rule does to the connections that are there.
func (a *active) begin(t *Tap) {
	switch a.Do {
	case Refuse:
		a.closeAll(t)
	case Close:
		a.closeAll(t)
		if a.PeriodMS > 0 {
			t.tasks.Go(func() { a.repeat(t) })
		}
	case HalfOpen:
		for _, c := range t.covered(&a.Rule) {
			if c.lose() {
				a.note(c)
				a.mark(c)
			}
		}
	case Slow:
		for _, c := range t.covered(&a.Rule) {
			a.slow(c)
		}
	}
}

func (a *active) mark(c *conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.marked[c] = true
}

// slow takes on one connection that is to be read slowly.
func (a *active) slow(c *conn) {
	a.mu.Lock()
	new := !a.marked[c]
	a.marked[c] = true
	a.mu.Unlock()
	if new {
		c.narrow(true)
		a.note(c)
	}
}

func (a *active) closeAll(t *Tap) {
	for _, c := range t.covered(&a.Rule) {
		if !c.lost.Load() {
			a.note(c)
			c.abort()
		}
	}
}

func (a *active) repeat(t *Tap) {
	tick := time.NewTicker(a.period())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			a.closeAll(t)
		case <-a.done:
			return
		case <-t.ctx.Done():
			return
		}
	}
}

// end takes back what can be taken back, and closes connections in which
// something is missing.
func (a *active) end(*Tap) {
	close(a.done)
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.marked {
		if a.Do == Slow {
			c.narrow(false)
			continue
		}
		c.abort()
	}
}

// keepsOut reports whether the rule lets no new connection of a client
// through.
func (a *active) keepsOut(c *conn) bool {
	return (a.Do == Refuse || a.Do == HalfOpen) && c.probe == "" && a.covers(c.node, c.id)
}
