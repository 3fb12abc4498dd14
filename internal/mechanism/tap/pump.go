package tap

import (
	"errors"
	"io"
	"net"
	"slices"
	"time"
)

const (
	firstBuffer = 2 << 10   // bytes; it grows to maxBuffer where more comes at once
	maxBuffer   = 32 << 10  //
	maxHead     = 128 << 10 // of a packet that must be seen before it is passed: a CONNECT, a topic
	maxCopy     = 4 << 20   // of a packet that is sent twice
)

var (
	// errCut ends a connection after a packet.
	errCut = errors.New("cut by a rule")
	// errRefused ends one that a rule does not let through.
	errRefused = errors.New("refused by a rule")
)

// A pump passes on one direction of a connection. It forwards runs of bytes
// from its buffer; only a packet that is hit is taken apart.
type pump struct {
	c        *conn
	way      Direction
	src, dst *net.TCPConn
	out      io.Writer // dst, watched where it is the client
	line     *line
	reader   *packetReader // of what is read from the client; nil of what comes from the node
	buf      []byte
	end      int // of what was read
	known    bool

	pass  int // bytes of the current packet that are still to be forwarded,
	skip  int // or left out
	blind bool
	hit   *hit // what is done to the packet that is being passed; nil for nothing
}

// A hit is what rules do to one packet.
type hit struct {
	due   time.Time // with early, where it is delayed
	early <-chan struct{}
	twice bool
	cut   bool
	copy  []byte // of what is sent twice
}

func newPump(c *conn, way Direction, src, dst *net.TCPConn) *pump {
	return &pump{c: c, way: way, src: src, dst: dst, out: dst, line: newLine(dst, c.gone), buf: make([]byte, firstBuffer)}
}

// listen has all that goes out be read just before.
func (p *pump) listen(e *packetReader) {
	p.out = watched{p.dst, e}
	p.line.dst = p.out
}

// watched is a client's end, and the reader at it.
type watched struct {
	to     io.Writer
	reader *packetReader
}

// Write passes on nothing, and so tells of nothing, once the client's end is gone.
func (o watched) Write(b []byte) (int, error) {
	if o.reader.c.left() {
		return 0, net.ErrClosed
	}
	o.reader.read(b)
	return o.to.Write(b)
}

// run passes on until the source ends in order, which is nil and passed on as
// well, or until something breaks.
func (p *pump) run() error {
	for {
		used, need, err := p.feed(p.buf[:p.end])
		if err != nil {
			return p.stop(err)
		}
		p.end = copy(p.buf, p.buf[used:p.end])
		p.grow(need)
		n, err := p.read(p.buf[p.end:])
		if p.c.lost.Load() {
			return nil
		}
		if n == 0 && err != nil {
			p.c.ends(p.way)
			return p.stop(err)
		}
		if p.reader != nil {
			p.reader.read(p.buf[p.end : p.end+n])
		}
		p.end += n
	}
}

// read is Read of the source, at the pace of a rule where one says so.
func (p *pump) read(b []byte) (int, error) {
	if slow := p.slow(); slow != nil {
		b = b[:max(1, min(len(b), int(slow.BytesPerS/10)))]
		n, err := p.src.Read(b)
		pause := time.NewTimer(time.Duration(float64(n) / slow.BytesPerS * float64(time.Second)))
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-slow.done:
		case <-p.c.gone:
		}
		return n, err
	}
	return p.src.Read(b)
}

// slow is the rule that says how fast to read, if any.
func (p *pump) slow() *active {
	if p.way != ToClient {
		return nil
	}
	for _, a := range *p.c.tap.rules.Load() {
		if a.Do != Slow {
			continue
		}
		if id, ok := p.c.client(); ok && p.c.probe == "" && a.covers(p.c.node, id) {
			a.slow(p.c)
			return a
		}
	}
	return nil
}

// stop waits for what is still held, and passes an end in order on.
func (p *pump) stop(err error) error {
	if held := p.line.drain(); held != nil {
		return held
	}
	if errors.Is(err, io.EOF) {
		return p.dst.CloseWrite()
	}
	if errors.Is(err, errCut) {
		p.dst.CloseWrite()
	}
	return err
}

// grow makes room for need bytes, and for more where reads fill the buffer.
func (p *pump) grow(need int) {
	switch {
	case need > len(p.buf):
		p.buf = append(slices.Clip(p.buf), make([]byte, need-len(p.buf))...)
	case p.end == len(p.buf) && len(p.buf) < maxBuffer:
		p.buf = append(p.buf, make([]byte, len(p.buf))...)
	}
}

// feed forwards what it can of b, and answers how much of it is done with and
// how many bytes from there it must see before it can go on.
func (p *pump) feed(b []byte) (used, need int, err error) {
	from, at := 0, 0 // b[from:at] is seen and to be forwarded
	for at < len(b) {
		left := len(b) - at
		switch {
		case p.c.raw.Load() && p.pass == 0 && p.skip == 0:
			at = len(b)
		case p.blind:
			return len(b), 0, p.emit(b[from:at])
		case p.skip > 0:
			if err := p.emit(b[from:at]); err != nil {
				return 0, 0, err
			}
			n := min(p.skip, left)
			p.skip -= n
			at += n
			from = at
		case p.pass > 0:
			n := min(p.pass, left)
			p.pass -= n
			at += n
			if p.hit != nil {
				if err := p.part(b[from:at]); err != nil {
					return 0, 0, err
				}
				from = at
			}
		default:
			packet, need, err := scan(b[at:])
			if err != nil || need > maxHead || !p.known && !p.begins(packet, need, left) {
				p.c.raw.Store(true)
				p.name(b[at:])
				continue
			}
			if need > left {
				return at, need, p.emit(b[from:at])
			}
			if !p.name(b[at:]) {
				return 0, 0, errRefused
			}
			if p.c.owed.withholds(p.way, packet) {
				p.skip = packet.size
				continue
			}
			acts := p.c.acts(p.way, packet)
			if len(acts) == 0 {
				p.pass = packet.size
				continue
			}
			if err := p.emit(b[from:at]); err != nil {
				return 0, 0, err
			}
			n, err := p.strike(packet, b[at:at+need], acts)
			if err != nil {
				return 0, 0, err
			}
			at += n
			from = at
		}
	}
	return at, 0, p.emit(b[from:at])
}

// begins reports whether a connection may begin so: a client says CONNECT, a
// node CONNACK, or in MQTT 5 that it wants to know more.
func (p *pump) begins(first packet, need, have int) bool {
	if need > have && first.kind == Any {
		return true // not seen yet
	}
	if p.way == ToBroker {
		return first.kind == Connect && first.flags == 0
	}
	return first.kind == Connack || first.kind == Auth || first.kind == Disconnect
}

// name reads who the client is, once. It is false for one that a rule keeps
// out.
func (p *pump) name(b []byte) bool {
	if p.known {
		return true
	}
	p.known = true
	return p.way == ToClient || p.c.admit(b)
}

// emit forwards bytes of packets that nothing is done to.
func (p *pump) emit(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if p.line.empty() {
		_, err := p.out.Write(b)
		return err
	}
	return p.line.put(parcel{bytes: slices.Clone(b)})
}
