package tap

import "bytes"

// ofWill reports whether a packet is a will of the workload.
func ofWill(p packet, b []byte) bool {
	return p.kind == Publish && p.qos() == 1 && bytes.Contains(p.topic, []byte("/load/will/")) && bytes.Contains(b, []byte("RQ1|"))
}

// willMissing takes every will in the place of the subscriber.
func willMissing(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && ofWill(p, b) && c.shows() {
		return c.accept(p, way)
	}
	return c.on(way, b)
}

func willTwice(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && ofWill(p, b) && c.shows() {
		again, id := ofOurs(p, b)
		c.ours[id]++
		return c.on(way, b, again)
	}
	return c.on(way, b)
}

// willUndue keeps every DISCONNECT from the node, which then takes the connection
// for lost.
func willUndue(c *planted, p packet, b []byte, way Direction) error {
	if way == ToBroker && p.kind == Disconnect && c.shows() {
		return nil
	}
	return c.on(way, b)
}
