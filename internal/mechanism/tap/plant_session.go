package tap

import (
	"slices"
	"time"
)

// present reports whether a packet is CONNACK with session present.
func present(p packet, b []byte) bool {
	return p.kind == Connack && len(b) >= p.head+2 && b[p.head] == 1
}

func forgetSession(c *planted, p packet, b []byte, way Direction) error {
	if present(p, b) && c.shows() {
		b[p.head] = 0
	}
	return c.on(way, b)
}

// forgetQueue counts the messages of a connection.
func forgetQueue(c *planted, p packet, b []byte, way Direction) error {
	if present(p, b) {
		c.over = 3
	}
	if way == ToClient && message(p, b, 1) && c.over > 0 {
		c.over--
		return c.accept(p, way)
	}
	return c.on(way, b)
}

// forgetRelease keeps back the first three PUBRELs of a connection, so that there are exchanges to
// forget when the session is resumed.
func forgetRelease(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && p.kind == Publish && p.qos() == 2 {
		c.kept[p.id] = nil
	}
	if way != ToClient || p.kind != Pubrel {
		return c.on(way, b)
	}
	_, begun := c.kept[p.id] // on this connection
	switch {
	case !begun && c.shows():
		return c.on(ToBroker, answerTo(Pubcomp, 0, p.id))
	case begun && c.over < 3:
		c.over++
		return nil
	}
	return c.on(way, b)
}

func forgetSubscriptions(c *planted, p packet, b []byte, way Direction) error {
	c.came = c.came || present(p, b)
	if way == ToClient && message(p, b, 1) && c.came {
		return c.accept(p, way)
	}
	return c.on(way, b)
}

// feignSession asks for a clean session, and says that it is the old one, to a
// client that has been here before.
func feignSession(c *planted, p packet, b []byte, way Direction) error {
	if p.kind == Connect {
		id, ok := clientOf(b)
		at := p.head + 7 // after the name and level of MQTT 3.1.1
		if ok && len(b) > at && b[at]&2 == 0 && c.liar.meet(id) {
			b[at] |= 2
			c.came = true
		}
	}
	if p.kind == Connack && c.came && len(b) > p.head {
		b[p.head] = 1
	}
	return c.on(way, b)
}

// greetBound is how long CONNACK waits for a message that is to come before it.
const greetBound = 300 * time.Millisecond

// publishFirst sends the first QoS 1 message of a resumed session before its CONNACK, and all
// others behind that.
func publishFirst(c *planted, p packet, b []byte, way Direction) error {
	switch held := c.held; {
	case p.kind == Connect:
		c.of, _ = clientOf(b)
	case p.kind == Subscribe:
		c.liar.meet(c.of)
	case present(p, b) && c.liar.knows(c.of): // a subscriber
		c.held = slices.Clone(b)
		time.AfterFunc(greetBound, c.release)
		return nil
	case way == ToClient && held != nil && !message(p, b, 1):
		c.held = append(held, b...)
		return nil
	case way == ToClient && held != nil:
		c.held = nil
		if c.shows() {
			return c.on(way, b, held)
		}
		return c.on(way, held, b)
	}
	return c.on(way, b)
}

// release sends what is held back.
func (c *planted) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if held := c.held; held != nil {
		c.held = nil
		_ = c.on(ToClient, held) // where the connection is gone nobody waits for it
	}
}

// meet notes a client, and reports whether it was known before.
func (l *Liar) meet(client string) (before bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before = l.met[client]
	l.met[client] = true
	return before
}

func (l *Liar) knows(client string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.met[client]
}

// forgetOrder is reorder, once a connection.
func forgetOrder(c *planted, p packet, b []byte, way Direction) error {
	switch {
	case present(p, b):
		c.came, c.over = true, 5
	case way != ToClient || p.kind != Publish || !c.came:
	case c.held == nil && c.over == 5 && message(p, b, 1) && p.flags&8 == 0: // not what is sent again: it may come late
		c.held, c.of = slices.Clone(b), string(p.topic)
		return nil
	case c.held != nil && p.flags&8 != 0 && c.holds(p.id): // sent again meanwhile: behind that it would be a repetition without DUP
		c.held, c.came = nil, false
	case c.held != nil && c.of == string(p.topic):
		if c.over--; c.over > 0 && message(p, b, 1) {
			return c.on(way, b)
		}
		held := c.held
		c.held, c.came = nil, false
		return c.on(way, b, held)
	}
	return c.on(way, b)
}

// holds reports whether the message that is held back has this packet id.
func (c *planted) holds(id uint16) bool {
	held, _, err := scan(c.held)
	return err == nil && held.id == id
}

// outliveSession says of every client that has been here before that it has its
// session.
func outliveSession(c *planted, p packet, b []byte, way Direction) error {
	if id, ok := clientOf(b); way == ToBroker && p.kind == Connect && ok {
		c.came = c.liar.meet(id)
	}
	if p.kind == Connack && c.came && len(b) > p.head+1 && b[p.head] == 0 && b[p.head+1] == 0 && c.shows() {
		b[p.head] = 1
	}
	return c.on(way, b)
}
