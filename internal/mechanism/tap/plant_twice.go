package tap

import (
	"encoding/binary"
	"errors"
	"slices"
)

// ofOurs is a copy of a PUBLISH with a packet id that nobody else uses, and that
// id: SDKs and brokers count theirs from 1.
func ofOurs(p packet, b []byte) ([]byte, uint16) {
	again, id := slices.Clone(b), p.id^0x8000
	binary.BigEndian.PutUint16(again[p.head+2+len(p.topic):], id)
	return again, id
}

// twice sends a message of a QoS once more, right behind it.
func twice(towards Direction, qos byte) act {
	return func(c *planted, p packet, b []byte, way Direction) error {
		if way != towards || !message(p, b, qos) || !c.hits() {
			return c.on(way, b)
		}
		if qos == 0 {
			return c.on(way, b, b)
		}
		again, id := ofOurs(p, b)
		if way == ToBroker {
			c.sent[id] = true
		} else {
			c.ours[id]++
		}
		return c.on(way, b, again)
	}
}

// deliverAgain keeps a message until 40 others of its QoS have come.
func deliverAgain(qos byte) act {
	const later = 40
	return func(c *planted, p packet, b []byte, way Direction) error {
		if way != ToClient || !message(p, b, qos) {
			return c.on(way, b)
		}
		out := [][]byte{b}
		for i := range c.again {
			if c.again[i].after--; c.again[i].after == 0 {
				if qos > 0 {
					c.ours[p.id^0x4000]++
					binary.BigEndian.PutUint16(c.again[i].packet[p.head+2+len(p.topic):], p.id^0x4000)
				}
				out = append(out, c.again[i].packet)
			}
		}
		c.again = slices.DeleteFunc(c.again, func(l late) bool { return l.after <= 0 })
		if c.hits() {
			c.again = append(c.again, late{slices.Clone(b), later})
		}
		return c.on(way, out...)
	}
}

// resendReleased waits until the client has answered the true PUBREL, so that
// the broker's exchange is over.
func resendReleased(c *planted, p packet, b []byte, way Direction) error {
	switch {
	case way == ToClient && message(p, b, 2) && c.hits():
		c.kept[p.id] = slices.Clone(b)
	case way == ToBroker && p.kind == Pubcomp && c.kept[p.id] != nil:
		again := c.kept[p.id]
		delete(c.kept, p.id)
		again[0] |= 8 // DUP
		c.ours[p.id]++
		return errors.Join(c.on(ToBroker, b), c.on(ToClient, again))
	}
	return c.on(way, b)
}

// resendBare leaves the broker one of two answers.
func resendBare(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && message(p, b, 1) && c.hits() {
		c.ours[p.id]++
		return c.on(ToClient, b, b)
	}
	return c.on(way, b)
}
