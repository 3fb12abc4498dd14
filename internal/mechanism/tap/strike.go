package tap

import (
	"slices"
	"time"
)

// acts are the rules that hit a packet, in the order of their injection, each
// counted. After one that leaves nothing of it there is no other.
func (c *conn) acts(way Direction, p packet) (out []*active) {
	for _, a := range *c.tap.rules.Load() {
		if !a.Do.ofPackets() || !a.hits(c, way, p) {
			continue
		}
		out = append(out, a)
		if a.Do == Drop || a.Do == Truncate || a.Do == Mutate {
			break
		}
	}
	return out
}

// strike begins to do what the rules say to the packet that begins with head,
// and answers how many bytes of it are done with.
func (p *pump) strike(packet packet, head []byte, acts []*active) (used int, err error) {
	h := &hit{}
	p.hit, p.pass = h, packet.size
	for _, a := range acts {
		switch a.Do {
		case Drop:
			p.hit, p.pass, p.skip = nil, 0, packet.size
			if h.cut { // it is gone, and so is the connection after it
				return 0, errCut
			}
			return 0, nil
		case Delay:
			if due := time.Now().Add(a.delay()); due.After(h.due) {
				h.due, h.early = due, a.done
			}
		case Duplicate:
			h.twice = true
			p.c.owed.add(p.way, packet, packet.id, 1)
		case CutAfter:
			h.cut = true
		case Truncate:
			h.cut, h.twice = true, false
			p.pass = max(1, packet.size/2)
		case Mutate:
			return p.mutate(packet, head, a.Change)
		}
	}
	return 0, nil
}

// part passes on a part of the packet that is hit, and what follows its last.
func (p *pump) part(b []byte) error {
	h := p.hit
	if h.twice {
		h.copy = append(h.copy, b...)
	}
	if err := p.send(b); err != nil {
		return err
	}
	if p.pass > 0 {
		return nil
	}
	if h.twice {
		h.copy[0] |= 8 // DUP
		if err := p.send(h.copy); err != nil {
			return err
		}
	}
	p.hit = nil
	if h.cut {
		return errCut
	}
	return nil
}

// send forwards bytes of the packet that is hit.
func (p *pump) send(b []byte) error {
	if p.hit.due.IsZero() {
		return p.emit(b)
	}
	return p.line.put(parcel{bytes: slices.Clone(b), due: p.hit.due, early: p.hit.early})
}

// mutate forwards the head of a packet changed; the rest passes as it is.
func (p *pump) mutate(packet packet, head []byte, change Change) (used int, err error) {
	out, id := slices.Clone(head), packet.id
	switch change {
	case ReservedFlags:
		out[0] ^= 15
	case QoS3:
		out[0] |= 6
	case TypeZero:
		out[0] &= 15
	case Wildcard:
		out[packet.head+2] = '#'
	case PacketIDZero:
		at := packet.head
		if packet.kind == Publish {
			at += 2 + len(packet.topic)
		}
		out[at], out[at+1], id = 0, 0, 0
	case RemainingLength:
		// Where the next packet begins is lost with it.
		out, p.blind = []byte{out[0], 0xff, 0xff, 0xff, 0xff, 0x7f}, true
	}
	p.c.owed.add(p.way, packet, id, 0)
	if p.pass = packet.size - len(head); p.blind {
		p.pass = 0
	}
	return len(head), p.part(out)
}
