package tap

import "slices"

// reorder holds a message until others of its topic have passed it.
func reorder(towards Direction, qos byte, others int) act {
	return func(c *planted, p packet, b []byte, way Direction) error {
		if way != towards || p.kind != Publish {
			return c.on(way, b)
		}
		if c.held != nil && c.of == string(p.topic) {
			held := c.held
			if c.over--; c.over > 0 && message(p, b, qos) {
				return c.on(way, b)
			}
			c.held = nil
			if !message(p, b, qos) { // the end marker, which nothing may follow
				return c.on(way, held, b)
			}
			return c.on(way, b, held)
		}
		if c.held == nil && message(p, b, qos) && c.hits() {
			c.held, c.of, c.over = slices.Clone(b), string(p.topic), others
			return nil
		}
		return c.on(way, b)
	}
}
