package tap

import (
	"slices"

	"github.com/mochi-mqtt/server/v2/packets"
)

// acceptOnly accepts a message in the place of whom it is for.
func acceptOnly(towards Direction, qos byte) act {
	return func(c *planted, p packet, b []byte, way Direction) error {
		if way == towards && message(p, b, qos) && c.hits() {
			return c.accept(p, way)
		}
		return c.on(way, b)
	}
}

// dropSeveral counts a row of messages as one time.
func dropSeveral(c *planted, p packet, b []byte, way Direction) error {
	if way != ToClient || !message(p, b, 1) {
		return c.on(way, b)
	}
	if c.over == 0 && c.hits() {
		c.over = 10
	}
	if c.over == 0 {
		return c.on(way, b)
	}
	c.over--
	return c.accept(p, way)
}

// overwrite keeps the message before of the same topic.
func overwrite(c *planted, p packet, b []byte, way Direction) error {
	if way != ToClient || !message(p, b, 1) {
		return c.on(way, b)
	}
	return c.rewrite(way, b, func(m *packets.Packet) {
		before, same := c.held, c.of == m.TopicName
		c.held, c.of = m.Payload, m.TopicName
		if before != nil && same && c.hits() {
			m.Payload = before
		}
	})
}

// dropLast holds the latest message of a topic until the next comes: the last is
// followed by the end marker.
func dropLast(c *planted, p packet, b []byte, way Direction) error {
	if way != ToClient || p.kind != Publish || p.qos() != 1 || c.of != "" && c.of != string(p.topic) {
		return c.on(way, b)
	}
	held := c.held
	if message(p, b, 1) {
		c.of, c.held = string(p.topic), slices.Clone(b)
		if held == nil {
			return nil
		}
		return c.on(way, held)
	}
	c.held = nil
	if held == nil || !c.shows() {
		return c.on(way, b)
	}
	last, _, err := scan(held)
	if err != nil {
		return err
	}
	if err := c.accept(last, way); err != nil {
		return err
	}
	return c.on(way, b)
}

func storeElsewhere(c *planted, p packet, b []byte, way Direction) error {
	if way != ToBroker || !message(p, b, 1) || !c.hits() {
		return c.on(way, b)
	}
	return c.rewrite(way, b, func(m *packets.Packet) { m.TopicName = "elsewhere/" + m.TopicName })
}
