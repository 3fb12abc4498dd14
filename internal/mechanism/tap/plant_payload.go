package tap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

// rewrite passes a PUBLISH on as change makes it.
func (c *planted) rewrite(way Direction, b []byte, change func(*packets.Packet)) error {
	m, err := mqttpacket.Read(bufio.NewReader(bytes.NewReader(b)), c.level)
	if err != nil {
		return fmt.Errorf("read a PUBLISH to plant a defect in: %w", err)
	}
	change(&m.Packet)
	out, err := mqttpacket.Encode(c.level, m.Packet)
	if err != nil {
		return fmt.Errorf("write a PUBLISH with a planted defect: %w", err)
	}
	return c.on(way, out)
}

// anyMessage is message of whatever QoS.
func anyMessage(p packet, b []byte) bool { return message(p, b, p.qos()) }

// damage changes the payload of a message of QoS 1 or 2 on its way to a
// subscriber.
func damage(change func(payload []byte) []byte) act {
	return func(c *planted, p packet, b []byte, way Direction) error {
		if way != ToClient || p.qos() == 0 || !anyMessage(p, b) || !c.hits() {
			return c.on(way, b)
		}
		return c.rewrite(way, b, func(m *packets.Packet) { m.Payload = change(m.Payload) })
	}
}

func corruptLast(b []byte) []byte {
	b[len(b)-1] ^= 1
	return b
}

func corruptFirst(b []byte) []byte {
	b[0] ^= 1
	return b
}

func truncateHalf(b []byte) []byte { return b[:len(b)/2] }
func extendByte(b []byte) []byte   { return append(b, 'x') }
func emptied([]byte) []byte        { return nil }
func zeroed(b []byte) []byte       { return make([]byte, len(b)) }

// invented is a number that is far from being sent.
func invented(b []byte) []byte { return rewritten(b, func(h *contract.Header) { h.Seq += 1 << 30 }) }

func ofAnotherRun(b []byte) []byte {
	return rewritten(b, func(h *contract.Header) { h.Run = "0therrun" })
}

// rewritten is a payload with another header, whole and sound.
func rewritten(b []byte, change func(*contract.Header)) []byte {
	h, err := contract.Parse(b)
	if err != nil {
		return b
	}
	change(&h)
	return h.Encode()
}

func storeDamaged(c *planted, p packet, b []byte, way Direction) error {
	if way == ToBroker && p.qos() > 0 && anyMessage(p, b) && c.hits() {
		corruptLast(b)
	}
	return c.on(way, b)
}

func rename(c *planted, p packet, b []byte, way Direction) error {
	if way != ToClient || p.qos() == 0 || !anyMessage(p, b) || !c.hits() {
		return c.on(way, b)
	}
	return c.rewrite(way, b, func(m *packets.Packet) { m.TopicName += "/else" })
}

func retainLive(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && anyMessage(p, b) && c.hits() {
		b[0] |= 1
	}
	return c.on(way, b)
}

// raise takes the client's answer itself.
func raise(c *planted, p packet, b []byte, way Direction) error {
	if way != ToClient || !message(p, b, 0) || !c.hits() {
		return c.on(way, b)
	}
	id := 0xff00 | uint16(c.liar.Shown())
	c.ours[id]++
	return c.rewrite(way, b, func(m *packets.Packet) { m.FixedHeader.Qos, m.PacketID = 1, id })
}

// lower answers the broker itself.
func lower(qos byte) act {
	return func(c *planted, p packet, b []byte, way Direction) error {
		if way != ToClient || !message(p, b, qos) || !c.hits() {
			return c.on(way, b)
		}
		err := c.rewrite(way, b, func(m *packets.Packet) { m.FixedHeader.Qos, m.PacketID = 0, 0 })
		return errors.Join(err, c.accept(p, way))
	}
}

func corruptQoS0(c *planted, p packet, b []byte, way Direction) error {
	if way == ToClient && message(p, b, 0) && c.hits() {
		corruptLast(b)
	}
	return c.on(way, b)
}
