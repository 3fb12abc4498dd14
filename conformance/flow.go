package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

// flow is how much a server sends at once: of MQTT 5.
func flow() []entry {
	return []entry{
		{"flow/receive-maximum", "", "MQTT-3.3.4-9", must, "no more messages than Receive Maximum are sent unacknowledged", receiveMaximum},
		{"flow/goes-on", "", "MQTT-4.9.0-2", must, "with every acknowledgement another one may be sent, until all are", receiveGoesOn},
		{"flow/others-are-not-delayed", "", "MQTT-3.3.4-10", must, "other packets are not delayed by it", receiveOthers},
		{"flow/qos2-counts-until-pubcomp", "", "MQTT-4.9.0-2", must, "a QoS 2 message counts until PUBCOMP, not until PUBREC", receiveQoS2},
		{"flow/one-for-one", "", "MQTT-3.3.4-9", must, "a message that is done makes room for one more, while others wait", receiveOneForOne},
		{"flow/in-order", "", "MQTT-4.6.0-6", must, "a message that is published while others wait for room comes after them", receiveInOrder},
		{"flow/maximum-packet-size", "", "MQTT-3.1.2-24", must, "no packet is larger than the client's Maximum Packet Size", maximumSize},
		{"flow/answers-fit", "", "MQTT-3.9.2-1", must, "no answer is larger than the client's Maximum Packet Size: reason strings and user properties are left out", answersFit},
		{"flow/too-large-is-done", "", "MQTT-3.1.2-25", must, "a message that is too large counts as sent: those after it come", tooLarge},
		{"flow/own-maximum-packet-size", "", "§3.2.2.3.6", must, "a packet as large as the server's own maximum is taken", ownMaximum},
	}
}

func receives(n uint16) func(*packets.Packet) {
	return with(func(p *packets.Properties) { p.ReceiveMaximum = n })
}

// slow is a client that acknowledges nothing and takes so many messages, of
// those that were sent to it; another one has all of them.
func slow(x *exam, takes uint16, sent int, qos byte) *client {
	x.needsQoS(qos)
	sub, other, pub := x.sub(receives(takes)), x.sub(), x.pub()
	sub.subscribe(x.topic("t"), qos)
	other.subscribe(x.topic("t"), qos)
	sub.manual = true
	for i := range sent {
		pub.publish(x.topic("t"), fmt.Sprint("m", i), qos)
	}
	for i := range sent {
		other.message(fmt.Sprint("m", i))
	}
	return sub
}

// soFar returns the messages that came by now, without those that were sent again. It
// sends no marker to a client that has used up its quota: the server may hold back QoS 0
// messages too.
func (c *client) soFar() []*packet {
	c.ping()
	c.linger()
	return slices.DeleteFunc(c.take(), func(m *packet) bool { return m.FixedHeader.Dup })
}

func receiveMaximum(x *exam) {
	for _, takes := range []uint16{1, 3} {
		sub := slow(x, takes, 6, 1)
		if n := len(sub.soFar()); n > int(takes) {
			x.Violates("with a Receive Maximum of %d, %d messages came and none was acknowledged", takes, n)
		}
		sub.disconnect()
	}
}

func receiveGoesOn(x *exam) {
	sub := slow(x, 2, 6, 1)
	for i := range 6 {
		sub.ack(packets.Puback, sub.message(fmt.Sprint("m", i)).PacketID)
	}
}

func receiveOthers(x *exam) {
	sub := slow(x, 1, 3, 1)
	sub.message("m0")
	sub.trySubscribe(filters(x.topic("u")))
	sub.unsubscribe(x.topic("u"))
	sub.ping()
	sub.publish(x.topic("v"), "own", 1)
}

func receiveQoS2(x *exam) {
	sub := slow(x, 1, 3, 2)
	first := sub.message("m0")
	sub.received(first)
	if n := len(sub.soFar()); n > 0 {
		x.Violates("the quota is 1, PUBCOMP was not sent, and %d more messages came", n)
	}
	sub.ack(packets.Pubcomp, first.PacketID)
	sub.message("m1")
}

// receiveAll acknowledges messages that came: those of QoS 2 up to PUBREL, which is waited for.
func (c *client) receiveAll(all []*packet) {
	for _, m := range all {
		switch m.FixedHeader.Qos {
		case 1:
			c.ack(packets.Puback, m.PacketID)
		case 2:
			c.received(m)
		}
	}
}

func receiveOneForOne(x *exam) {
	const takes = 3
	sub := slow(x, takes, 3*takes, 2)
	first := sub.soFar()
	if len(first) == 0 {
		x.Undecided("no message came to a client with a Receive Maximum of %d", takes)
	}
	sub.receiveAll(first)
	sub.ack(packets.Pubcomp, first[0].PacketID)
	if more := sub.soFar(); len(first)-1+len(more) > takes {
		x.Violates("with a Receive Maximum of %d, %d messages came, one of them was done, and then %d more came", takes, len(first), len(more))
	}
}

// receiveInOrder has messages of QoS 1 wait behind those of QoS 2, which take longer: one of
// QoS 1 is done while older ones of QoS 2 are not, and then one more is published. The client
// acknowledges in the order in which messages come, as it must.
func receiveInOrder(x *exam) {
	const takes = 5
	x.needsQoS(2)
	sub := x.sub(receives(takes)) // which publishes, too: else a PUBLISH may be read before what it acknowledged
	sub.subscribe(x.topic("t"), 2)
	sub.manual = true
	for i := range 2 * takes {
		sub.publish(x.topic("t"), orderLabel(2, i), 2)
	}
	for i := range 2 * takes {
		sub.publish(x.topic("t"), orderLabel(1, i), 1)
	}
	last := map[byte]int{1: -1, 2: -1}
	var open []uint16 // of QoS 2, for PUBCOMP
	came := 0
	take := func(done int) {
		all := sub.soFar()
		came += len(all)
		for _, m := range all {
			qos, _ := x.ordered(m)
			last[qos] = x.later(m, last[qos])
			if m.FixedHeader.Qos == 2 {
				open = append(open, m.PacketID)
			}
		}
		sub.receiveAll(all)
		for ; done > 0 && len(open) > 0; done-- {
			sub.ack(packets.Pubcomp, open[0])
			open = open[1:]
		}
	}
	take(1)
	take(1)
	take(0)
	sub.publish(x.topic("t"), orderLabel(1, 2*takes), 1)
	for range 6 * takes {
		if take(takes); came > 4*takes {
			return
		}
	}
	x.Undecided("%d of %d messages came; flow/goes-on asks for the others", came, 4*takes+1)
}

func maximumSize(x *exam) {
	const limit = 300
	sub, pub := x.sub(with(func(p *packets.Properties) { p.MaximumPacketSize = limit })), x.pub()
	sub.subscribe(x.topic("t"), 1)
	for n := limit - 60; n < limit+60; n += 6 {
		pub.publish(x.topic("t"), strings.Repeat("x", n), 1)
	}
	all := sub.rest(pub)
	for _, m := range all {
		if len(m.Raw) > limit {
			x.Violates("a PUBLISH of %d bytes came to a client with a Maximum Packet Size of %d", len(m.Raw), limit)
		}
	}
	if len(all) == 0 {
		x.Undecided("no PUBLISH of about %d bytes came, not even a smaller one", limit)
	}
}

// answersFit leaves no room for comments in the answers of a broker.
func answersFit(x *exam) {
	const limit = 40
	small := with(func(p *packets.Properties) { p.MaximumPacketSize = limit })
	fits := func(pk *packet, what string) {
		if pk != nil && len(pk.Raw) > limit {
			x.Violates("a %s of %d bytes came to a client with a Maximum Packet Size of %d", what, len(pk.Raw), limit)
		}
	}
	c, connack := x.connect("small", x.to, small)
	fits(connack, "CONNACK")
	for qos := range byte(3) {
		if x.offersQoS(qos) {
			fits(c.trySubscribe(filters(x.topic(qosLabel(qos)))), "SUBACK")
		}
	}
	fits(c.unsubscribe(x.topic("none there")), "UNSUBACK")
	pk := publisher(x.topic("nobody"), 1, c.newID(), x.payload("m"))
	c.send(pk)
	fits(c.await("PUBACK", answerTo(packets.Puback, pk.PacketID)), "PUBACK")
	if x.offersQoS(2) {
		pk = publisher(x.topic("nobody"), 2, c.newID(), x.payload("m"))
		c.send(pk)
		received := c.await("PUBREC", answerTo(packets.Pubrec, pk.PacketID))
		fits(received, "PUBREC")
		c.accepted(received)
		c.ack(packets.Pubrel, pk.PacketID)
		fits(c.await("PUBCOMP", answerTo(packets.Pubcomp, pk.PacketID)), "PUBCOMP")
	}
	c.raw("malformed", options(3)(x))
	c.closedIn(x.wait)
	fits(c.said, "DISCONNECT")
}

func tooLarge(x *exam) {
	sub, pub := x.sub(with(func(p *packets.Properties) { p.MaximumPacketSize = 300 })), x.pub()
	sub.subscribe(x.topic("t"), 1)
	for range 3 {
		pub.publish(x.topic("t"), strings.Repeat("x", 400), 1)
	}
	pub.publish(x.topic("t"), "small", 1)
	sub.message("small")
}

func ownMaximum(x *exam) {
	limit := int(x.offers.MaximumPacketSize)
	if limit == 0 || limit > mqttpacket.MaxPacket {
		x.Unsupported("the broker sets no maximum that is small enough to try")
	}
	pub := x.pub()
	topic := x.topic("t")
	room := limit - 1 - len(varint(limit)) - len(str(topic)) - 2 - 1
	pk := publisher(topic, 1, 1, make([]byte, room))
	pub.send(pk)
	pub.complete(pk)
}

// expiring is the message expiry: of MQTT 5.
func expiring() []entry {
	return []entry{
		{"expiry/counts-down", "", "MQTT-3.3.2-6", must, "a message comes with what is left of its expiry interval", countsDown},
		{"expiry/deleted", "", "MQTT-3.3.2-5", must, "a message that expired while the client was away is not sent", expired},
		{"expiry/not-yet", "", "MQTT-3.3.2-6", must, "a message that waits and did not expire is sent", notExpired},
		{"expiry/qos2-completes", "", "MQTT-4.3.3-13", must, "the exchange of an expired QoS 2 message is completed", expiredCompletes},
		{"expiry/sent-is-not-expired", "", "MQTT-4.3.3-7", must, "a message that was sent once does not expire any more", sentNotExpired},
	}
}

func expiresIn(seconds uint32) func(*packets.Packet) {
	return with(func(p *packets.Properties) { p.MessageExpiryInterval = seconds })
}

// waiting leaves a message with the session of a client that is away.
func waiting(x *exam, seconds uint32, away time.Duration) *client {
	sub := x.sub(lasting)
	sub.subscribe(x.topic("t"), 1)
	sub.disconnect()
	x.pub().publish(x.topic("t"), "m", 1, expiresIn(seconds))
	x.After(away)
	again, _ := x.connect("again", x.to, named(sub.id), lasting)
	return again
}

func countsDown(x *exam) {
	left := waiting(x, 100, 2200*time.Millisecond).message("m").Properties.MessageExpiryInterval
	if left > 99 || left < 60 {
		x.Violates("a message with an expiry of 100 s that waited for more than 2 s came with %d s", left)
	}
}

func expired(x *exam) {
	waiting(x, 1, 3500*time.Millisecond).nothing(x.pub(), "it expired 1 s after it was sent, 2.5 s before the client came back")
}

func notExpired(x *exam) {
	waiting(x, 120, 0).message("m")
}

func expiredCompletes(x *exam) {
	x.needsQoS(2)
	pub := x.pub()
	sent := pub.publishing(x.topic("t"), "m", 2, expiresIn(1))
	pub.accepted(pub.await("PUBREC", answerTo(packets.Pubrec, sent.PacketID)))
	x.After(2500 * time.Millisecond)
	pub.ack(packets.Pubrel, sent.PacketID)
	pub.await("PUBCOMP", answerTo(packets.Pubcomp, sent.PacketID))
}

func sentNotExpired(x *exam) {
	x.needsQoS(2)
	sub := x.sub(lasting)
	sub.subscribe(x.topic("t"), 2)
	sub.manual = true
	x.pub().publish(x.topic("t"), "m", 2, expiresIn(1))
	m := sub.message("m")
	x.After(2500 * time.Millisecond)
	sub.received(m)
}

// aliasing is topic aliases: of MQTT 5.
func aliasing() []entry {
	return []entry{
		{"alias/used", "", "MQTT-3.3.2-12", must, "an alias up to the server's maximum stands for its topic", aliasUsed},
		{"alias/changed", "", "§3.3.2.3.4", must, "an alias that is sent with another topic stands for that one", aliasChanged},
		{"alias/not-carried-over", "", "MQTT-3.3.2-7", must, "an alias is not known on another connection", aliasGone},
		{"alias/none-unasked", "", "MQTT-3.1.2-27", must, "a client that takes no aliases gets none", aliasNone},
		{"alias/up-to-clients-maximum", "", "MQTT-3.1.2-26", must, "a client gets no alias above its maximum, and can resolve those it gets", aliasOfServer},
	}
}

func alias(n uint16) func(*packets.Packet) {
	return with(func(p *packets.Properties) { p.TopicAlias, p.TopicAliasFlag = n, true })
}

func (x *exam) needsAliases(n uint16) {
	x.offer(x.offers.TopicAliasMaximum >= n, fmt.Sprintf("%d topic aliases", n))
}

func aliasUsed(x *exam) {
	x.needsAliases(1)
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("#"), 1)
	for _, n := range []uint16{1, x.offers.TopicAliasMaximum} {
		topic, label := x.topic(fmt.Sprint("t", n)), fmt.Sprint("m", n)
		pub.publish(topic, label+"first", 1, alias(n))
		pub.publish("", label, 1, alias(n))
		if m := sub.message(label); m.TopicName != topic {
			x.Violates("alias %d stands for %q, the message came on %q", n, topic, m.TopicName)
		}
	}
}

func aliasChanged(x *exam) {
	x.needsAliases(1)
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("#"), 1)
	pub.publish(x.topic("a"), "one", 1, alias(1))
	pub.publish(x.topic("b"), "two", 1, alias(1))
	pub.publish("", "three", 1, alias(1))
	if m := sub.message("three"); m.TopicName != x.topic("b") {
		x.Violates("alias 1 stands for %q, the message came on %q", x.topic("b"), m.TopicName)
	}
}

func aliasGone(x *exam) {
	x.needsAliases(1)
	pub := x.pub(lasting)
	pub.publish(x.topic("a"), "one", 1, alias(1))
	pub.disconnect()
	again, _ := x.connect("again", x.from, named(pub.id), lasting)
	again.send(publisherWithAlias("", 1, 1, x.payload("two"), 1))
	ack, err := again.find(ofType(packets.Puback), x.soon())
	if errors.Is(err, errLate) {
		again.missing("PUBACK, and no end of the connection,", ofType(packets.Puback))
	}
	if err == nil && ack.ReasonCode < 0x80 {
		x.Violates("a message with an alias of the connection before is taken")
	}
}

func publisherWithAlias(topic string, qos byte, id uint16, payload []byte, n uint16) packets.Packet {
	pk := publisher(topic, qos, id, payload)
	alias(n)(&pk)
	return pk
}

func aliasNone(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	for i := range 3 {
		label := fmt.Sprint("m", i)
		pub.publish(x.topic("t"), label, 1)
		if m := sub.message(label); m.Properties.TopicAliasFlag {
			x.Violates("a PUBLISH has the topic alias %d", m.Properties.TopicAlias)
		}
	}
}

func aliasOfServer(x *exam) {
	const limit = 2
	sub, pub := x.sub(with(func(p *packets.Properties) { p.TopicAliasMaximum = limit })), x.pub()
	sub.subscribe(x.topic("#"), 1)
	names := map[uint16]string{}
	for i := range 12 {
		topic, label := x.topic(string(rune('a'+i%4))), fmt.Sprint("m", i)
		pub.publish(topic, label, 1)
		m := sub.message(label)
		n := m.Properties.TopicAlias
		if m.Properties.TopicAliasFlag && (n == 0 || n > limit) {
			x.Violates("a PUBLISH has the topic alias %d, above the client's maximum of %d", n, limit)
		}
		if m.TopicName != "" && n > 0 {
			names[n] = m.TopicName
		}
		if m.TopicName == "" && names[n] != topic || m.TopicName != "" && m.TopicName != topic {
			x.Violates("what was published to %q came on %q, alias %d, which stands for %q", topic, m.TopicName, n, names[n])
		}
	}
}
