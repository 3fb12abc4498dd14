package native

import (
	"slices"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

// An outbox is the messages of QoS 1 and 2 whose acknowledgement has not come, in the
// order in which they were first sent. Its session's lock is held.
type outbox struct {
	list []*outgoing
	last uint16 // identifier that was given out
}

// An outgoing is one of them.
type outgoing struct {
	id       uint16
	call     *driver.Call
	stream   contract.Stream
	payload  []byte
	released bool // PUBREC came: from then on it is PUBREL that is sent
}

// next is an identifier that no message in flight has.
func (b *outbox) next() uint16 {
	for {
		b.last++
		if b.last != 0 && b.find(b.last) == nil {
			return b.last
		}
	}
}

func (b *outbox) add(m *outgoing) { b.list = append(b.list, m) }

func (b *outbox) find(id uint16) *outgoing {
	if i := b.index(id); i >= 0 {
		return b.list[i]
	}
	return nil
}

func (b *outbox) index(id uint16) int {
	return slices.IndexFunc(b.list, func(m *outgoing) bool { return m.id == id })
}

// done takes out a message that was acknowledged, or refused.
func (b *outbox) done(id uint16, ack driver.Ack, told error) {
	i := b.index(id)
	if i < 0 {
		return
	}
	call := b.list[i].call
	b.list = slices.Delete(b.list, i, i+1)
	ack.ID = int64(id)
	call.Return(ack)
	call.Told(told)
}

// abandon gives up all.
func (b *outbox) abandon(why error) {
	for _, m := range b.list {
		m.call.Return(driver.Unknown(why))
		m.call.Told(why)
	}
	b.list = nil
}

// packet is its PUBLISH.
func (m *outgoing) packet(again bool) packets.Packet {
	return packets.Packet{
		FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: m.stream.QoS, Retain: m.stream.Retain, Dup: again},
		TopicName:   m.stream.Topic, Payload: m.payload, PacketID: m.id,
	}
}

// answer is a packet that is about another one: PUBACK, PUBREC, PUBREL or PUBCOMP.
func answer(kind byte, id uint16) packets.Packet {
	return packets.Packet{FixedHeader: packets.FixedHeader{Type: kind}, PacketID: id}
}
