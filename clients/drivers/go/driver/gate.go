package driver

import "sync"

// A gate is open or closed; who waits at it passes when it opens. The zero
// value is open.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // nil while open
}

// shut closes the gate; it reports whether it was open.
func (g *gate) shut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		return false
	}
	g.opened = make(chan struct{})
	return true
}

// open opens the gate; it reports whether it was closed.
func (g *gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		return false
	}
	close(g.opened)
	g.opened = nil
	return true
}

// wait returns true once the gate is open, false if stop is closed first.
func (g *gate) wait(stop <-chan struct{}) bool {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened == nil {
		return true
	}
	select {
	case <-opened:
		return true
	case <-stop:
		return false
	}
}
