package tap

import "encoding/binary"

// plantFew is how often a defect shows that leaves messages unanswered.
const plantFew = 3

func (c *planted) few() bool { return c.liar.Shown() < plantFew && c.hits() }

func grantLess(c *planted, p packet, b []byte, way Direction) error {
	if p.kind == Suback && len(b) == p.head+3 && b[p.head+2] > 0 && c.shows() {
		b[p.head+2] = 0
	}
	return c.on(way, b)
}

func wrongAnswer(kind Type) act {
	return func(c *planted, p packet, b []byte, way Direction) error {
		if way == ToClient && p.kind == kind && c.few() {
			binary.BigEndian.PutUint16(b[p.head:], p.id^0x8000)
		}
		return c.on(way, b)
	}
}

// ackAsQoS2 goes on with whatever the client makes of it.
func ackAsQoS2(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && p.kind == Puback && c.few() {
		c.taken[p.id] = true
		return c.on(way, answerTo(Pubrec, 0, p.id))
	}
	return c.on(way, b)
}

// ackAsQoS1 ends the exchange with the broker itself.
func ackAsQoS1(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && p.kind == Pubrec && c.few() {
		c.sent[p.id] = true
		if err := c.on(ToBroker, answerTo(Pubrel, 2, p.id)); err != nil {
			return err
		}
		return c.on(way, answerTo(Puback, 0, p.id))
	}
	return c.on(way, b)
}

func ackUnasked(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && p.kind == Puback && c.few() {
		return c.on(way, b, answerTo(Puback, 0, p.id^0x8000))
	}
	return c.on(way, b)
}
