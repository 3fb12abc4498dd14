package tap

import "time"

// How long a client may owe an acknowledgement before the others wait for it,
// how long they wait for each message, and how often they look.
const (
	patience  = 500 * time.Millisecond
	stalled   = 10 * time.Second
	stallLook = 20 * time.Millisecond
)

// standing is how long stall-and-drop keeps a client waiting.
const standing = 8 * time.Second

// stallAndDrop forgets a message, and then sends the client nothing for a while, once. It
// counts that message, which it acknowledges first: the node would send it again.
func stallAndDrop(c *planted, p packet, b []byte, way Direction) error {
	if way != ToClient || c.stood || !message(p, b, 1) || !c.shows() {
		return c.on(way, b)
	}
	c.stood = true
	if err := c.accept(p, way); err != nil {
		return err
	}
	c.mu.Unlock() // its own packets go on
	select {
	case <-time.After(standing):
	case <-c.liar.ctx.Done():
	}
	c.mu.Lock()
	return nil
}

// stallAll sends a message to nobody while another client owes an
// acknowledgement.
func stallAll(c *planted, p packet, b []byte, way Direction) error {
	switch {
	case way == ToBroker && p.kind == Puback:
		c.liar.pays(c, p.id)
	case way == ToClient && message(p, b, 1):
		if c.liar.indebted(c) && c.shows() {
			c.mu.Unlock() // its own acknowledgements go on
			c.liar.standStill(c)
			c.mu.Lock()
		}
		c.liar.owes(c, p.id)
	}
	return c.on(way, b)
}

// standStill waits while another client is in debt.
func (l *Liar) standStill(c *planted) {
	tick, over := time.NewTicker(stallLook), time.After(stalled)
	defer tick.Stop()
	for l.indebted(c) {
		select {
		case <-tick.C:
		case <-over:
			return
		case <-l.ctx.Done():
			return
		}
	}
}

func (l *Liar) owes(c *planted, id uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owed[c] == nil {
		l.owed[c] = map[uint16]time.Time{}
	}
	l.owed[c][id] = time.Now()
}

func (l *Liar) pays(c *planted, id uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owed[c], id)
}

// indebted reports whether any client but one owes an acknowledgement for too
// long.
func (l *Liar) indebted(but *planted) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c, ids := range l.owed {
		for _, since := range ids {
			if c != but && time.Since(since) > patience {
				return true
			}
		}
	}
	return false
}
