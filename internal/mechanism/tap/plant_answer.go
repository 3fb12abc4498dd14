package tap

import "encoding/binary"

// plantFew is how often a defect shows that leaves messages unanswered.
const plantFew = 3

func (c *planted) few() bool { return c.liar.Shown() < plantFew && c.hits() }

// grantLess is of SUBACKs of one subscription.
func grantLess(c *planted, p packet, b []byte, way Direction) error {
	if p.kind == Suback && len(b) >= p.head+3 && len(b) == c.codes(p, b)+1 && b[len(b)-1] > 0 && c.shows() {
		b[len(b)-1] = 0
	}
	return c.on(way, b)
}

// codes is where the reason codes of a SUBACK begin: behind its packet id, and in MQTT
// 5 behind its properties, too (3.9.2, 3.9.3).
func (c *planted) codes(p packet, b []byte) int {
	at := p.head + 2
	if c.level < 5 {
		return at
	}
	properties, n, _ := length(b[at:])
	return at + n + properties
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
