package tap

import "encoding/binary"

// A Witness is told the packets of one client's connection: those of the client
// before any rule, and those passed to the client after all rules. It is told before
// a packet goes on, so that every effect of a packet is later. Both directions call
// it at the same time.
type Witness interface {
	// Payload is a part of the payload of a PUBLISH, from byte at of size
	// bytes in all. It comes before the packet, in order; the part is valid
	// during the call.
	Payload(way Direction, at, size int, part []byte)
	// Packet is a whole packet, valid during the call.
	Packet(p *Packet)
	// Unread is that what goes on in a direction is no MQTT any more, as far as
	// this package can read it: no packet of it is told from then on.
	Unread(Direction)
	// End tells the end of the connection. It was ended first by the client
	// (ToBroker), the node (ToClient) or the tap ("").
	End(by Direction)
}

// A Packet is a control packet with what a witness may want of it. PINGREQ,
// PINGRESP and AUTH are not told.
type Packet struct {
	Way     Direction
	Kind    Type
	Dup     bool   // of a PUBLISH
	Retain  bool   // of a PUBLISH
	QoS     byte   // of a PUBLISH; of a SUBSCRIBE, of its first filter
	ID      uint16 // 0 for none
	Reason  byte   // the first reason or return code; of a SUBACK the QoS granted
	Present bool   // of a CONNACK: the session is
	Expires bool   // of a CONNACK or DISCONNECT of MQTT 5: it says itself when the session ends,
	ExpiryS uint32 // after so long
	Topic   []byte // of a PUBLISH; empty where an alias of MQTT 5 stands for it
}

// A Hello is what a witness may want of a CONNECT.
type Hello struct {
	Node    string
	Client  string // its client id
	Level   byte   // 3, 4 or 5
	Clean   bool   // clean session, or clean start
	ExpiryS uint32 // MQTT 5
}

// A packetReader reads the bytes of one direction, packet by packet, as they lie in any
// number of parts. Bytes that are no MQTT, or contradict themselves, make it blind.
type packetReader struct {
	c     *conn
	way   Direction
	blind bool
	begun bool   // the first packet was heard
	lost  bool   // something came after that, and could not be heard
	head  []byte // of a packet whose head is not whole yet
	now   Packet // that is being passed
	topic []byte // of it
	skip  int    // bytes of it before its payload, or before its end
	size  int    // of its payload
	left  int    // of that
	in    bool   // a packet is being passed
}

func (e *packetReader) read(b []byte) {
	if w := e.c.witness.Load(); e.blind && e.begun && w != nil && !e.lost && len(b) > 0 {
		e.lost = true
		(*w).Unread(e.way)
	}
	for len(b) > 0 && !e.blind {
		if e.in {
			b = e.rest(b)
			continue
		}
		held := len(e.head)
		whole := b
		if held > 0 {
			e.head = append(e.head, b...)
			whole = e.head
		}
		used, need := e.begin(whole)
		switch {
		case need > maxHead:
			e.blind = true
		case need > len(whole):
			if held == 0 {
				e.head = append(e.head, b...)
			}
			return
		default:
			e.head = e.head[:0]
			b = b[used-held:]
		}
	}
}

// rest passes what follows the head of a packet.
func (e *packetReader) rest(b []byte) []byte {
	if n := min(e.skip, len(b)); n > 0 {
		e.skip -= n
		b = b[n:]
	}
	if n := min(e.left, len(b)); n > 0 {
		e.witness().Payload(e.way, e.size-e.left, e.size, b[:n])
		e.left -= n
		b = b[n:]
	}
	e.finish()
	return b
}

// finish tells a packet that is whole.
func (e *packetReader) finish() {
	if e.skip > 0 || e.left > 0 {
		return
	}
	e.in = false
	if k := e.now.Kind; k != Pingreq && k != Pingresp && k != Auth && k != Connect {
		e.witness().Packet(&e.now)
	}
}

func (e *packetReader) witness() Witness { return *e.c.witness.Load() }

// begin reads the head of the packet that b begins with, and answers how many
// bytes of b that took, and how many it takes.
func (e *packetReader) begin(b []byte) (used, need int) {
	p, need, err := scan(b)
	if err == nil && need <= len(b) && p.kind != Any {
		need = max(need, e.wants(p))
	}
	if err != nil || p.size > 0 && need > max(p.size, 2) {
		e.blind = true
		return 0, 0
	}
	if need > len(b) {
		return 0, need
	}
	if !e.begun && !e.start(p, b) {
		e.blind = true
		return 0, 0
	}
	e.now = Packet{Way: e.way, Kind: p.kind, ID: p.id}
	body := b[p.head:min(len(b), p.size)]
	e.in, e.size = true, 0
	used = need
	switch level := e.c.level; p.kind {
	case Publish:
		e.now.Dup, e.now.Retain, e.now.QoS = p.flags&8 != 0, p.flags&1 != 0, p.qos()
		e.topic = append(e.topic[:0], p.topic...)
		e.now.Topic = e.topic
		properties, n, whole := 0, 0, true
		if level >= 5 {
			properties, n, whole = varint(b[need:min(len(b), p.size)])
			if !whole && len(b) < p.size {
				e.in = false
				return 0, len(b) + 1
			}
		}
		used += n
		if !whole || used+properties > p.size {
			e.blind = true
			return 0, 0
		}
		e.skip, e.size = properties, p.size-used-properties
		e.left = e.size
		e.finish()
		return used, need
	case Connack:
		if len(body) >= 2 {
			e.now.Present, e.now.Reason = body[0]&1 != 0, body[1]
			e.expires(body[2:], level)
		}
	case Puback, Pubrec, Pubrel, Pubcomp:
		if len(body) >= 3 && level >= 5 {
			e.now.Reason = body[2]
		}
	case Suback:
		e.now.Reason = first(afterProperties(body, level))
	case Subscribe:
		e.now.QoS = requested(afterProperties(body, level))
	case Disconnect:
		e.now.Reason = first(body)
		e.expires(body[min(1, len(body)):], level)
	}
	e.left, e.skip = 0, p.size-used
	e.finish()
	return used, need
}

// wants is how much of a packet must be there to read it: of a short one all.
func (e *packetReader) wants(p packet) int {
	switch p.kind {
	case Publish:
		return 0
	case Puback, Pubrec, Pubrel, Pubcomp:
		return min(p.size, p.head+3)
	case Connack, Disconnect:
		if e.c.level >= 5 {
			return min(p.size, maxHead)
		}
		return min(p.size, p.head+2)
	}
	return p.size
}

// expires reads when a session ends from the properties of a CONNACK or
// DISCONNECT.
func (e *packetReader) expires(b []byte, level byte) {
	if n, at, err := length(b); level >= 5 && err == nil && at > 0 && at+n <= len(b) {
		e.now.ExpiryS, e.now.Expires = expiry(b[at : at+n])
	}
}

// start hears the first packet: a client says CONNECT, and so whom to tell is
// known.
func (e *packetReader) start(p packet, b []byte) bool {
	e.begun = true
	if e.way == ToClient {
		return e.c.witness.Load() != nil
	}
	hello, ok := helloOf(b[:p.size])
	if p.kind != Connect || !ok {
		return false
	}
	hello.Node = e.c.node
	witness := e.c.tap.opt.Observe(hello)
	if witness == nil {
		return false
	}
	e.c.level = hello.Level
	e.c.witness.Store(&witness)
	return true
}

// varint reads a length; whole is false where it goes on beyond b.
func varint(b []byte) (v, n int, whole bool) {
	v, n, err := length(b)
	return v, n, err != nil || n > 0
}

// afterProperties is the body of a SUBSCRIBE or SUBACK without its packet id
// and properties.
func afterProperties(body []byte, level byte) []byte {
	if len(body) < 2 {
		return nil
	}
	body = body[2:]
	if level < 5 {
		return body
	}
	n, at, err := length(body)
	if err != nil || at == 0 || at+n > len(body) {
		return nil
	}
	return body[at+n:]
}

func first(b []byte) byte {
	if len(b) == 0 {
		return 0
	}
	return b[0]
}

// requested is the QoS that the first filter asks for.
func requested(filters []byte) byte {
	_, rest, ok := text(filters)
	if !ok {
		return 0
	}
	return first(rest) & 3
}

// helloOf reads a whole CONNECT.
func helloOf(b []byte) (h Hello, ok bool) {
	h.Client, ok = clientOf(b)
	if !ok {
		return h, false
	}
	p, _, _ := scan(b)
	_, rest, _ := text(b[p.head:p.size])
	h.Level, h.Clean = rest[0], rest[1]&2 != 0
	if h.Level >= 5 {
		n, at, _ := length(rest[4:]) // clientOf has read it
		h.ExpiryS, _ = expiry(rest[4+at : 4+at+n])
	}
	return h, true
}

// expiry finds the session expiry interval among the properties of a CONNECT,
// CONNACK or DISCONNECT (MQTT 5.0, 3.1.2.11, 3.2.2.3 and 3.14.2.2).
func expiry(properties []byte) (s uint32, ok bool) {
	for len(properties) > 0 {
		id := properties[0]
		properties = properties[1:]
		size := 0
		switch id {
		case 0x11, 0x27: // session expiry interval, maximum packet size
			size = 4
		case 0x21, 0x22, 0x13: // receive maximum, topic alias maximum, server keep alive
			size = 2
		case 0x17, 0x19, 0x24, 0x25, 0x28, 0x29, 0x2A: // request problem and response information; maximum QoS, and what is available
			size = 1
		case 0x15, 0x16, 0x26, 0x12, 0x1A, 0x1C, 0x1F: // authentication method and data, the name of a user property; texts of a server
			if len(properties) < 2 {
				return 0, false
			}
			size = 2 + int(binary.BigEndian.Uint16(properties))
			if id == 0x26 && len(properties) >= size+2 {
				size += 2 + int(binary.BigEndian.Uint16(properties[size:]))
			}
		}
		if size == 0 || size > len(properties) {
			return 0, false
		}
		if id == 0x11 {
			return binary.BigEndian.Uint32(properties), true
		}
		properties = properties[size:]
	}
	return 0, false
}
