package conformance

import (
	"errors"
	"slices"

	"github.com/mochi-mqtt/server/v2/packets"
)

// subscribe subscribes, and answers when the subscription is in effect, with the
// QoS that was asked for. A server may grant less, and then the check ends.
func (c *client) subscribe(filter string, qos byte, change ...func(*packets.Packet)) *packet {
	return c.subscribeAll([]packets.Subscription{{Filter: filter, Qos: qos}}, change...)
}

func (c *client) subscribeAll(filters []packets.Subscription, change ...func(*packets.Packet)) *packet {
	suback := c.subscribeAny(filters, change...)
	c.fully(suback, filters)
	return suback
}

// subscribeAny is subscribeAll with any QoS that is granted.
func (c *client) subscribeAny(filters []packets.Subscription, change ...func(*packets.Packet)) *packet {
	suback := c.trySubscribe(filters, change...)
	for _, code := range suback.ReasonCodes {
		if code >= 0x80 {
			c.x.Unsupported("the broker refused a subscription with %#02x", code)
		}
	}
	c.x.spread(c)
	return suback
}

// fully is that every filter was granted the QoS that was asked for.
func (c *client) fully(suback *packet, filters []packets.Subscription) {
	for i, code := range suback.ReasonCodes {
		if code < filters[i].Qos {
			c.x.Unsupported("the broker granted QoS %d where %d was asked for", code, filters[i].Qos)
		}
	}
}

// trySubscribe subscribes and answers the SUBACK, whatever its codes say; there
// is one for each filter.
func (c *client) trySubscribe(filters []packets.Subscription, change ...func(*packets.Packet)) *packet {
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe}, PacketID: c.newID(), Filters: filters}
	for _, f := range change {
		f(&pk)
	}
	c.send(pk)
	suback := c.await("SUBACK", answerTo(packets.Suback, pk.PacketID))
	if len(suback.ReasonCodes) != len(filters) {
		c.x.Violates("%d filters, and SUBACK has %d codes", len(filters), len(suback.ReasonCodes))
	}
	return suback
}

// trySubscribeOne subscribes to a filter that the broker may refuse, also by
// closing the connection: it answers the code, and whether there was a SUBACK.
func (c *client) trySubscribeOne(filter string, qos byte) (byte, error) {
	id := c.newID()
	c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe}, PacketID: id, Filters: packets.Subscriptions{{Filter: filter, Qos: qos}}})
	suback, err := c.find(answerTo(packets.Suback, id), c.x.soon())
	if err != nil {
		return 0, err
	}
	if n := len(suback.ReasonCodes); n != 1 {
		c.x.Violates("one filter, and SUBACK has %d codes", n)
	}
	return suback.ReasonCodes[0], nil
}

// notGranted is that a filter is refused, or the connection closed for it.
func (c *client) notGranted(filter string) {
	code, err := c.trySubscribeOne(filter, 0)
	if errors.Is(err, errLate) {
		c.missing("SUBACK, and no end of the connection,", answerTo(packets.Suback, c.nextID))
	}
	if err == nil && code < 0x80 {
		c.x.Violates("the filter %q is granted QoS %d", filter, code)
	}
}

func (c *client) unsubscribe(filters ...string) *packet {
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Unsubscribe}, PacketID: c.newID()}
	for _, f := range filters {
		pk.Filters = append(pk.Filters, packets.Subscription{Filter: f})
	}
	c.send(pk)
	return c.await("UNSUBACK", answerTo(packets.Unsuback, pk.PacketID))
}

// publish publishes a message and completes its flow. Its payload is the check's
// token and the label.
func (c *client) publish(topic, label string, qos byte, change ...func(*packets.Packet)) {
	c.complete(c.publishing(topic, label, qos, change...))
}

// publishing sends a PUBLISH and waits for nothing.
func (c *client) publishing(topic, label string, qos byte, change ...func(*packets.Packet)) packets.Packet {
	pk := packets.Packet{
		FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: qos}, TopicName: topic, Payload: c.x.payload(label),
	}
	if qos > 0 {
		pk.PacketID = c.newID()
	}
	for _, f := range change {
		f(&pk)
	}
	if pk.FixedHeader.Retain && !slices.Contains(c.x.retained, pk.TopicName) {
		c.x.retained = append(c.x.retained, pk.TopicName)
	}
	c.send(pk)
	return pk
}

// complete waits for what the QoS of a message that was sent asks for.
func (c *client) complete(pk packets.Packet) { c.completeWith(pk, c.accepted) }

// completeWith is complete with another look at the acknowledgement that takes the message.
func (c *client) completeWith(pk packets.Packet, accepted func(*packet)) {
	switch pk.FixedHeader.Qos {
	case 1:
		accepted(c.await("PUBACK", answerTo(packets.Puback, pk.PacketID)))
	case 2:
		accepted(c.await("PUBREC", answerTo(packets.Pubrec, pk.PacketID)))
		c.ack(packets.Pubrel, pk.PacketID)
		c.await("PUBCOMP", answerTo(packets.Pubcomp, pk.PacketID))
	}
}

func (c *client) accepted(pk *packet) {
	if pk.ReasonCode >= 0x80 {
		c.x.Unsupported("the broker refused a message with %#02x", pk.ReasonCode)
	}
}

func retain(pk *packets.Packet) { pk.FixedHeader.Retain = true }

func with(f func(*packets.Properties)) func(*packets.Packet) {
	return func(pk *packets.Packet) { f(&pk.Properties) }
}
