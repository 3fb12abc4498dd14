package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mochi-mqtt/server/v2/packets"
)

// bounds are the boundary values of the fields.
func bounds() []entry {
	return []entry{
		{"bound/packet-id", "MQTT-2.3.1-6", "MQTT-2.2.1-5", must, "packet ids 1 and 65535 of PUBLISH come back in its acknowledgements", publishIDs},
		{"bound/packet-id-of-subscribe", "MQTT-2.3.1-7", "MQTT-2.2.1-6", must, "packet ids 1 and 65535 of SUBSCRIBE and UNSUBSCRIBE come back in theirs", subscribeIDs},
		{"bound/remaining-length", "§2.2.3", "§1.5.5", must, "packets at the bounds of the remaining length's bytes, 127 128 16383 16384, are passed on", lengths(127, 128, 16383, 16384)},
		{"bound/remaining-length-4", "§2.2.3", "§1.5.5", must, "so are those at 2097151 and 2097152", largeLengths},
		{"bound/topic-length", "MQTT-4.7.3-3", "MQTT-4.7.3-3", must, "a topic of 65535 bytes is passed on", longTopic},
		{"bound/topic-levels", "§4.7.1.1", "§4.7.1.1", must, "a topic of 100 levels is passed on", manyLevels},
		{"bound/keep-alive", "§3.1.2.10", "§3.1.2.10", must, "a keep alive of 65535, and none, are taken", keepAlives},
		{"bound/session-expiry", "", "§3.1.2.11.2", must, "Session Expiry Intervals of 0 and 4294967295 are taken", sessionExpiries},
		{"bound/receive-maximum", "", "§3.1.2.11.3", must, "Receive Maximums of 1 and 65535 are taken", receiveMaximums},
		{"bound/maximum-packet-size", "", "§3.1.2.11.4", must, "a Maximum Packet Size of 4294967295 is taken", maximumPacketSizes},
		{"bound/message-expiry", "", "MQTT-3.3.2-6", must, "a Message Expiry Interval of 4294967295 is passed on", messageExpiries},
		{"bound/subscription-identifier", "", "MQTT-3.3.4-3", must, "Subscription Identifiers of 1, 127, 128 and 268435455 come back", subscriptionIdentifiers},
		{"bound/will-delay", "", "§3.1.3.2.2", must, "a Will Delay Interval of 4294967295 is taken", willDelays},
		{"bound/user-property", "", "MQTT-3.3.2-17", must, "a user property of 60000 bytes, and one of none, are passed on", userPropertyLengths},
		{"bound/user-properties", "", "MQTT-3.3.2-18", must, "100 user properties are passed on", manyUserProperties},
		{"bound/correlation-data", "", "MQTT-3.3.2-16", must, "correlation data of 65535 bytes are passed on", correlationLength},
		{"bound/many-filters", "MQTT-3.8.4-5", "MQTT-3.8.4-6", must, "100 filters in one SUBSCRIBE have 100 codes", hundredFilters},
	}
}

func publishIDs(x *exam) {
	pub := x.pub()
	for _, id := range []uint16{1, 65535} {
		for qos := byte(1); qos <= 2; qos++ {
			if !x.offersQoS(qos) {
				continue
			}
			pk := publisher(x.topic("t"), qos, id, x.payload("m"))
			pub.send(pk)
			pub.complete(pk)
		}
	}
}

func subscribeIDs(x *exam) {
	c := x.sub()
	for _, id := range []uint16{1, 65535} {
		c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe}, PacketID: id, Filters: filters(x.topic("t"))})
		c.await("SUBACK", answerTo(packets.Suback, id))
		c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Unsubscribe}, PacketID: id, Filters: filters(x.topic("t"))})
		c.await("UNSUBACK", answerTo(packets.Unsuback, id))
	}
}

// lengths publishes messages whose PUBLISH has these remaining lengths.
func lengths(all ...int) func(*exam) {
	return func(x *exam) {
		sub, pub := x.sub(), x.pub()
		topic := x.topic("t")
		sub.subscribe(topic, 1)
		for i, n := range all {
			x.needsSize(n + 5)
			head := len(str(topic)) + 2 + len(props(x.version))
			payload := bytes.Repeat([]byte{byte('a' + i)}, n-head)
			copy(payload, x.token)
			pk := publisher(topic, 1, uint16(i+1), payload)
			pub.send(pk)
			pub.complete(pk)
			m := sub.await(fmt.Sprintf("message of %d bytes", len(payload)), func(pk *packet) bool {
				return pk.FixedHeader.Type == packets.Publish && pk.TopicName == topic
			})
			if !bytes.Equal(m.Payload, payload) {
				x.Violates("a payload of %d bytes came as other %d bytes", len(payload), len(m.Payload))
			}
		}
	}
}

func largeLengths(x *exam) {
	x.needsSize(2097152 + 200)
	pub := x.pub()
	pub.send(publisher(x.topic("t"), 1, 1, make([]byte, 2097152)))
	ack, err := pub.find(ofType(packets.Puback), x.soon())
	if err != nil && !errors.Is(err, errLate) || err == nil && ack.ReasonCode >= 0x80 {
		x.Unsupported("the broker takes no packet of 2 MiB")
	}
	if errors.Is(err, errLate) {
		pub.missing("PUBACK", ofType(packets.Puback))
	}
	lengths(2097151, 2097152)(x)
}

// takesTopic looks first whether the server takes a topic at all: how long one
// may be below the standard's bound it may decide.
func takesTopic(x *exam, topic string) {
	x.needsSize(len(topic) + 200)
	look := x.pub()
	look.send(publisher(topic, 1, 1, x.payload("look")))
	ack, err := look.find(ofType(packets.Puback), x.soon())
	if err != nil || ack.ReasonCode >= 0x80 {
		x.Unsupported("the broker takes no topic of %d bytes in %d levels", len(topic), strings.Count(topic, "/")+1)
	}
	sub := x.sub()
	if code, err := sub.trySubscribeOne(topic, 1); err != nil || code >= 0x80 {
		x.Unsupported("the broker takes no filter of %d bytes in %d levels", len(topic), strings.Count(topic, "/")+1)
	}
	x.spread(sub)
	x.pub().publish(topic, "m", 1)
	if x.version == V311 && !sub.comes("m") {
		x.delivers()
		x.Undecided("a message on a topic of %d bytes in %d levels is acknowledged, and not delivered in %v: PUBACK is also how a server of MQTT 3.1.1 refuses one", len(topic), strings.Count(topic, "/")+1, x.wait)
	}
	if m := sub.message("m"); m.TopicName != topic {
		x.Violates("a topic of %d bytes came as one of %d", len(topic), len(m.TopicName))
	}
}

func longTopic(x *exam) {
	takesTopic(x, x.topic(strings.Repeat("t", 65535-len(x.topic("")))))
}

func manyLevels(x *exam) {
	takesTopic(x, x.topic(strings.Repeat("a/", 98)+"b"))
}

func keepAlives(x *exam) {
	for _, seconds := range []uint16{0, 1, 65535} {
		x.sub(keepAlive(seconds)).ping()
	}
}

func sessionExpiries(x *exam) {
	for _, seconds := range []uint32{0, 4294967295} {
		x.sub(expiry(seconds)).ping()
	}
}

func receiveMaximums(x *exam) {
	for _, n := range []uint16{1, 65535} {
		sub := x.sub(receives(n))
		sub.subscribe(x.topic("t"), 1)
		x.pub().publish(x.topic("t"), fmt.Sprint("m", n), 1)
		sub.message(fmt.Sprint("m", n))
	}
}

func maximumPacketSizes(x *exam) {
	sub := x.sub(with(func(p *packets.Properties) { p.MaximumPacketSize = 4294967295 }))
	sub.subscribe(x.topic("t"), 1)
	x.pub().publish(x.topic("t"), "m", 1)
	sub.message("m")
}

func messageExpiries(x *exam) {
	sub := x.sub()
	sub.subscribe(x.topic("t"), 1)
	x.pub().publish(x.topic("t"), "m", 1, expiresIn(4294967295))
	if left := sub.message("m").Properties.MessageExpiryInterval; left < 4294967295-60 {
		x.Violates("it came with %d s", left)
	}
}

func subscriptionIdentifiers(x *exam) {
	x.needsIdentifiers()
	sub, pub := x.sub(), x.pub()
	for _, n := range []int{1, 127, 128, 16383, 16384, 2097151, 2097152, 268435455} {
		topic := x.topic(fmt.Sprint("t", n))
		sub.subscribe(topic, 1, identified(n))
		pub.publish(topic, fmt.Sprint("m", n), 1)
		if got := sub.message(fmt.Sprint("m", n)).Properties.SubscriptionIdentifier; !slices.Equal(got, []int{n}) {
			x.Violates("the subscription has the identifier %d, the message came with %v", n, got)
		}
	}
}

func willDelays(x *exam) {
	x.sub(expiry(60), delay(4294967295), will(x.topic("w"), x.payload("will"), 1, false)).disconnect()
}

// passesUser publishes user properties and looks whether they come.
func passesUser(x *exam, pairs []packets.UserProperty) {
	room := 200
	for _, p := range pairs {
		room += 5 + len(p.Key) + len(p.Val)
	}
	x.needsSize(room)
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	pub.publish(x.topic("t"), "m", 1, with(func(p *packets.Properties) { p.User = pairs }))
	if got := sub.message("m").Properties.User; !slices.Equal(got, pairs) {
		x.Violates("%d user properties came as %d, or changed", len(pairs), len(got))
	}
}

func userPropertyLengths(x *exam) {
	passesUser(x, []packets.UserProperty{{Key: "", Val: ""}, {Key: "k", Val: strings.Repeat("v", 60000)}})
}

func manyUserProperties(x *exam) {
	var all []packets.UserProperty
	for i := range 100 {
		all = append(all, packets.UserProperty{Key: fmt.Sprint("k", i%7), Val: fmt.Sprint(i)})
	}
	passesUser(x, all)
}

func correlationLength(x *exam) {
	data := bytes.Repeat([]byte{0xa5}, 65535)
	x.needsSize(len(data) + 200)
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	pub.publish(x.topic("t"), "m", 1, with(func(p *packets.Properties) { p.CorrelationData = data }))
	if got := sub.message("m").Properties.CorrelationData; !bytes.Equal(got, data) {
		x.Violates("%d bytes came as %d", len(data), len(got))
	}
}

func hundredFilters(x *exam) {
	var names []string
	for i := range 100 {
		names = append(names, x.topic(fmt.Sprint("t", i)))
	}
	x.sub().trySubscribe(filters(names...)) // which counts them
}
