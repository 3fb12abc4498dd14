package tap

import (
	"bytes"
	"slices"

	"github.com/mochi-mqtt/server/v2/packets"
)

// retained reports whether a packet is a retained message of the workload.
func retained(p packet, b []byte) bool {
	return p.kind == Publish && p.flags&1 == 1 && bytes.Contains(p.topic, []byte("register/")) && bytes.Contains(b, []byte("RQ1|"))
}

// written notes what is written with RETAIN.
func (c *planted) written(topic string, payload []byte) {
	l := c.liar
	l.mu.Lock()
	defer l.mu.Unlock()
	all := append(l.retained[topic], slices.Clone(payload))
	l.retained[topic] = all[max(0, len(all)-2):]
}

// before answers the payload before the last that was written.
func (c *planted) before(topic string) []byte {
	l := c.liar
	l.mu.Lock()
	defer l.mu.Unlock()
	if all := l.retained[topic]; len(all) == 2 {
		return all[0]
	}
	return nil
}

// retainedAs shows the retained message of a topic with the payload that choose
// answers, where it answers one.
func retainedAs(choose func(c *planted, topic string) []byte) act {
	return func(c *planted, p packet, b []byte, way Direction) error {
		if !retained(p, b) {
			return c.on(way, b)
		}
		return c.rewrite(way, b, func(m *packets.Packet) {
			if way == ToBroker {
				c.written(m.TopicName, m.Payload)
			} else if payload := choose(c, m.TopicName); payload != nil && c.hits() {
				m.Payload = payload
			}
		})
	}
}

func retainedMissing(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && retained(p, b) && c.hits() {
		return c.accept(p, way)
	}
	return c.on(way, b)
}

// retainedLost loses some writes of a topic in a row, so that somebody reads
// before one is kept.
func retainedLost(c *planted, p packet, b []byte, way Direction) error {
	if way == ToBroker && retained(p, b) && c.loses(string(p.topic)) {
		return c.accept(p, way)
	}
	return c.on(way, b)
}

// loses reports whether a write to a topic is to be lost, whoever writes.
func (c *planted) loses(topic string) bool {
	const inARow = 4
	hit := c.hits()
	l := c.liar
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.losing[topic] == 0 && hit {
		l.losing[topic] = inARow
	}
	if l.losing[topic] == 0 {
		return false
	}
	l.losing[topic]--
	return true
}

func retainedDamaged(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && retained(p, b) && c.hits() {
		corruptLast(b)
	}
	return c.on(way, b)
}

// other answers the last payload written to any topic but one.
func (c *planted) other(topic string) []byte {
	l := c.liar
	l.mu.Lock()
	defer l.mu.Unlock()
	for t, all := range l.retained {
		if t != topic {
			return all[len(all)-1]
		}
	}
	return nil
}
