package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
)

// subscribing is SUBSCRIBE, SUBACK and the QoS of what comes then.
func subscribing() []entry {
	return []entry{
		{"subscribe/suback", "MQTT-3.8.4-1", "MQTT-3.8.4-1", must, "SUBSCRIBE is answered with SUBACK", subackComes},
		{"subscribe/suback-id", "MQTT-3.8.4-2", "MQTT-3.8.4-2", must, "SUBACK has the packet id of its SUBSCRIBE", subackID},
		{"subscribe/code-for-each", "MQTT-3.8.4-5", "MQTT-3.8.4-6", must, "SUBACK has a code for each filter, the QoS granted or a failure", subackCodes},
		{"subscribe/codes-in-order", "MQTT-3.9.3-1", "MQTT-3.9.3-1", must, "the codes of SUBACK are in the order of the filters", subackOrder},
		{"subscribe/known-codes", "MQTT-3.9.3-2", "MQTT-3.9.3-2", must, "the codes of SUBACK are those of the standard", subackKnown},
		{"subscribe/many-filters", "MQTT-3.8.4-4", "MQTT-3.8.4-5", must, "many filters in one SUBSCRIBE are as many subscriptions, with one SUBACK", manyFilters},
		{"subscribe/replaced", "MQTT-3.8.4-3", "MQTT-3.8.4-3", must, "the same filter again takes the place of the subscription", replaced},
		{"subscribe/replaced-qos", "MQTT-3.8.4-3", "MQTT-3.8.4-3", must, "the same filter again, with a higher or a lower QoS, is served with that", replacedQoS},
		{"subscribe/replaced-retained", "MQTT-3.8.4-3", "MQTT-3.8.4-4", must, "the same filter again sends the retained messages again", replacedRetained},
		{"subscribe/lowered-in-flight", "MQTT-3.8.4-3", "MQTT-3.8.4-4", must, "a subscription that is lowered to QoS 0 while messages are in flight, and raised again, gets new messages", loweredInFlight},
		{"subscribe/lower-qos", "MQTT-3.8.4-6", "MQTT-3.8.4-8", must, "a message comes with the lower of its own QoS and the one granted", lowerQoS},
		{"subscribe/overlapping", "MQTT-3.3.5-1", "MQTT-3.3.4-2", must, "overlapping subscriptions get a message with the highest of their QoS", overlapping},
		{"subscribe/overlapping-highest", "MQTT-3.3.5-1", "MQTT-3.3.4-2", must, "that is so whichever of them has the highest QoS", overlappingHighest},
		{"subscribe/topic-matches", "MQTT-3.3.2-3", "MQTT-3.3.2-3", must, "the topic of what comes matches the filter, and is the one published to", topicMatches},
		{"subscribe/no-local", "", "MQTT-3.8.3-3", must, "with No Local, a client's own messages do not come to it", noLocal},
		{"subscribe/without-no-local", "", "§3.8.3.1", must, "without No Local they do", withoutNoLocal},
	}
}

// unsubscribing is UNSUBSCRIBE and UNSUBACK.
func unsubscribing() []entry {
	return []entry{
		{"unsubscribe/unsuback", "MQTT-3.10.4-4", "MQTT-3.10.4-4", must, "UNSUBSCRIBE is answered with UNSUBACK", unsubackComes},
		{"unsubscribe/none-there", "MQTT-3.10.4-5", "MQTT-3.10.4-5", must, "that is also so where no subscription was deleted, with the packet id of the UNSUBSCRIBE", unsubackNone},
		{"unsubscribe/stops", "MQTT-3.10.4-2", "MQTT-3.10.4-2", must, "after it no new messages come", unsubscribeStops},
		{"unsubscribe/wildcard-stops", "MQTT-3.10.4-2", "MQTT-3.10.4-2", must, "after it nothing new comes that a wildcard matched", unsubscribeWildcard},
		{"unsubscribe/character-by-character", "MQTT-3.10.4-1", "MQTT-3.10.4-1", must, "filters are compared character by character: a wildcard deletes no other subscription", unsubscribeExact},
		{"unsubscribe/many", "MQTT-3.10.4-6", "MQTT-3.10.4-6", must, "many filters in one UNSUBSCRIBE are all deleted, with one UNSUBACK", unsubscribeMany},
		{"unsubscribe/completes", "MQTT-3.10.4-3", "MQTT-3.10.4-3", must, "a QoS 2 delivery that was begun is completed", unsubscribeCompletes},
		{"unsubscribe/codes-in-order", "", "MQTT-3.11.3-1", must, "the codes of UNSUBACK are in the order of the filters, one for each", unsubackCodes},
		{"unsubscribe/known-codes", "", "MQTT-3.11.3-2", must, "the codes of UNSUBACK are those of the standard", unsubackKnown},
	}
}

func filters(names ...string) []packets.Subscription {
	var all []packets.Subscription
	for _, name := range names {
		all = append(all, packets.Subscription{Filter: name, Qos: 1})
	}
	return all
}

func subackComes(x *exam) { x.sub().trySubscribe(filters(x.topic("t"))) }

func subackID(x *exam) {
	c := x.sub()
	for _, id := range []uint16{7, 300, 65535} {
		c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe}, PacketID: id, Filters: filters(x.topic("t"))})
		if suback := c.await("SUBACK", ofType(packets.Suback)); suback.PacketID != id {
			x.Violates("the SUBACK to packet id %d has %d", id, suback.PacketID)
		}
	}
}

func subackCodes(x *exam) {
	for n := range 4 {
		var all []packets.Subscription
		for i := range n + 1 {
			all = append(all, packets.Subscription{Filter: x.topic(string(rune('a' + i))), Qos: byte(i % 3)})
		}
		for i, code := range x.sub().trySubscribe(all).ReasonCodes {
			if code > all[i].Qos && code < 0x80 {
				x.Violates("a filter with QoS %d is granted %d", all[i].Qos, code)
			}
		}
	}
}

func subackOrder(x *exam) {
	c := x.sub()
	asked := []byte{2, 0, 1, 0, 2}
	var all []packets.Subscription
	for i, qos := range asked {
		all = append(all, packets.Subscription{Filter: x.topic(string(rune('a' + i))), Qos: qos})
	}
	granted := c.subscribeAny(all).ReasonCodes
	if slices.Equal(granted, asked) {
		return
	}
	// The granted QoS may be lower than the requested one, but is the same for
	// the same request.
	for i := range granted {
		for j := range granted {
			if asked[i] == asked[j] && granted[i] != granted[j] || granted[i] > asked[i] {
				x.Violates("asked for QoS % x, granted % x", asked, granted)
			}
		}
	}
}

func subackKnown(x *exam) {
	known := []byte{0, 1, 2, 0x80}
	if x.version == V5 {
		known = append(known, 0x83, 0x87, 0x8f, 0x91, 0x97, 0x9e, 0xa1, 0xa2)
	}
	names := []string{x.topic("t"), x.topic("+/t"), x.topic("#"), "$SYS/" + x.token, "#", "+"}
	for i, code := range x.sub().trySubscribe(filters(names...)).ReasonCodes {
		if !slices.Contains(known, code) {
			x.Violates("the code for %q is %#02x, which SUBACK does not have", names[i], code)
		}
	}
}

func manyFilters(x *exam) {
	sub, pub := x.sub(), x.pub()
	var names []string
	for i := range 20 {
		names = append(names, x.topic("t"+string(rune('a'+i))))
	}
	sub.subscribeAll(filters(names...))
	for _, name := range names {
		pub.publish(name, name, 1)
	}
	for _, name := range names {
		sub.message(name)
	}
	for _, pk := range sub.held {
		if pk.FixedHeader.Type == packets.Suback {
			x.Violates("a second SUBACK came")
		}
	}
}

func replaced(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 0)
	sub.subscribe(x.topic("t"), 1)
	pub.publish(x.topic("t"), "m", 1)
	if m := sub.message("m"); m.FixedHeader.Qos != 1 {
		x.Violates("the message came with QoS %d, after the subscription was replaced by one with QoS 1", m.FixedHeader.Qos)
	}
	sub.nothing(pub, "the second subscription takes the place of the first")
}

// replacedQoS raises and lowers subscriptions.
func replacedQoS(x *exam) {
	x.needsQoS(2)
	sub, pub := x.sub(), x.pub()
	for was := range byte(3) {
		for is := range byte(3) {
			label := fmt.Sprintf("%dto%d", was, is)
			sub.subscribe(x.topic(label), was)
			sub.subscribe(x.topic(label), is)
			pub.publish(x.topic(label), label, 2)
			if m := sub.message(label); m.FixedHeader.Qos != is {
				x.Violates("the message came with QoS %d, after a subscription with QoS %d was replaced by one with QoS %d", m.FixedHeader.Qos, was, is)
			}
		}
	}
	sub.nothing(pub, "the second subscription takes the place of the first")
}

func replacedRetained(x *exam) {
	x.needsRetain()
	pub := x.pub()
	pub.publish(x.topic("t"), "kept", 1, retain)
	sub, _ := x.subscribed(x.topic("t"), 1, "kept")
	sub.subscribe(x.topic("t"), 1)
	sub.message("kept")
}

// loweredInFlight fills the window of a session, and lowers its subscription on the next connection
// before the client acknowledges anything. Messages of before may come again.
func loweredInFlight(x *exam) {
	const takes = 10
	sent, window := 3*takes, receives(takes)
	if x.version != V5 {
		sent, window = 1100, func(*packets.Packet) {} // the server sets the window: often 20, 32 or 1,024 messages
	}
	sub, pub := x.sub(lasting, window), x.pub()
	sub.subscribe(x.topic("t"), 1)
	sub.manual = true
	for i := range sent {
		pub.publish(x.topic("t"), fmt.Sprint("m", i), 1)
	}
	sub.soFar()
	sub.drop()
	again, _ := x.connect("again", x.to, named(sub.id), lasting, window)
	again.subscribe(x.topic("t"), 0)
	again.subscribe(x.topic("t"), 1)
	for last := time.Now(); time.Since(last) < x.wait/2; again.linger() { // until a bounded queue has room
		if len(again.take()) > 0 {
			last = time.Now()
		}
	}
	pub.publish(x.topic("t"), "after", 1)
	again.message("after")
}

// subscribed is a new subscriber and the retained message that it is sent. Where the
// ends are on different nodes the message may still be on its way: then another client
// subscribes, which gets no copy that was sent to this one.
func (x *exam) subscribed(filter string, qos byte, label string) (*client, *packet) {
	for deadline := x.soon(); ; {
		c := x.sub()
		c.subscribe(filter, qos)
		if !x.apart() || time.Now().After(deadline) {
			return c, c.message(label)
		}
		switch pk, err := c.find(x.labelled(label), time.Now().Add(time.Second)); err {
		case nil:
			return c, pk
		case errLate:
			c.disconnect()
		default:
			c.hungUp(fmt.Sprintf("message %q", label))
		}
	}
}

func lowerQoS(x *exam) {
	sub, pub := x.sub(), x.pub()
	for granted := range byte(3) {
		topic := x.topic(qosLabel(granted))
		got := sub.subscribeAny([]packets.Subscription{{Filter: topic, Qos: granted}}).ReasonCodes[0]
		for sent := range byte(3) {
			if !x.offersQoS(sent) {
				continue
			}
			label := "sent" + qosLabel(sent) + "granted" + qosLabel(granted)
			pub.publish(topic, label, sent)
			if m := sub.message(label); m.FixedHeader.Qos != min(got, sent) {
				x.Violates("a message published with QoS %d came with QoS %d to a subscription that was granted %d", sent, m.FixedHeader.Qos, got)
			}
		}
	}
}

func overlapping(x *exam) { overlap(x, 0, 2, 1) }

// overlappingHighest gives each filter the highest QoS once: a server may look at them in any order.
func overlappingHighest(x *exam) {
	overlap(x, 0, 1, 2)
	overlap(x, 1, 2, 0)
	overlap(x, 2, 0, 1)
}

// overlap publishes to three filters that match, with these QoS.
func overlap(x *exam, qos ...byte) {
	x.needsWildcards()
	x.needsQoS(2)
	sub, pub := x.sub(), x.pub()
	var filters []packets.Subscription
	for i, filter := range []string{"+", "t", "#"} {
		filters = append(filters, packets.Subscription{Filter: x.topic(filter), Qos: qos[i]})
	}
	granted := sub.subscribeAny(filters).ReasonCodes
	pub.publish(x.topic("t"), "m", 2)
	best := slices.Max(granted)
	same := func(pk *packet) bool { return x.labelled("m")(pk) && pk.FixedHeader.Qos == best }
	sub.await(fmt.Sprintf("copy with QoS %d, where QoS % x were granted", best, granted), same)
	for _, m := range sub.rest(pub) {
		if m.FixedHeader.Qos > best {
			x.Violates("the subscriptions were granted QoS % x, and the message came with %d", granted, m.FixedHeader.Qos)
		}
	}
	sub.disconnect()
}

func topicMatches(x *exam) {
	x.needsWildcards()
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("a/+/c"), 1)
	for _, name := range []string{"a/b/c", "a//c", "a/b", "a/b/c/d"} {
		pub.publish(x.topic(name), name, 1)
	}
	for _, name := range []string{"a/b/c", "a//c"} {
		if m := sub.message(name); m.TopicName != x.topic(name) {
			x.Violates("what was published to %q came as %q", x.topic(name), m.TopicName)
		}
	}
	sub.nothing(pub, "its topic does not match the filter a/+/c")
}

func noLocal(x *exam) {
	c, other := x.pub(), x.pub()
	c.subscribeAll([]packets.Subscription{{Filter: x.topic("t"), Qos: 1, NoLocal: true}})
	c.publish(x.topic("t"), "own", 1)
	other.publish(x.topic("t"), "other", 1)
	c.message("other")
	c.nothing(c, "it is the client's own, and the subscription has No Local")
}

func withoutNoLocal(x *exam) {
	c := x.pub()
	c.subscribe(x.topic("t"), 1)
	c.publish(x.topic("t"), "own", 1)
	c.message("own")
}

func unsubackComes(x *exam) {
	c := x.sub()
	c.subscribe(x.topic("t"), 1)
	c.unsubscribe(x.topic("t"))
}

func unsubackNone(x *exam) { x.sub().unsubscribe(x.topic("never")) }

func unsubscribeStops(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	pub.publish(x.topic("t"), "before", 1)
	sub.message("before")
	sub.unsubscribe(x.topic("t"))
	if x.apart() {
		x.spread(sub)
	}
	for range 5 {
		pub.publish(x.topic("t"), "after", 1)
	}
	sub.nothing(pub, "the client had unsubscribed")
}

// unsubscribeWildcard publishes to all levels that wildcards match, with any QoS.
func unsubscribeWildcard(x *exam) {
	x.needsWildcards()
	sub, pub := x.sub(), x.pub()
	filters, topics := []string{"t/#", "u/#", "v/+", "#"}, []string{"t", "u/v", "v/w", "w"}
	for i, topic := range topics {
		sub.subscribe(x.topic(filters[i]), 1)
		pub.publish(x.topic(topic), "before "+topic, 1)
		sub.given("before " + topic)
		sub.unsubscribe(x.topic(filters[i]))
	}
	if x.apart() {
		x.spread(sub)
	}
	for _, topic := range topics {
		for qos := range byte(2) {
			pub.publish(x.topic(topic), "after", qos)
		}
	}
	sub.nothing(pub, "the client had unsubscribed")
}

func unsubscribeExact(x *exam) {
	x.needsWildcards()
	sub, pub := x.sub(), x.pub()
	sub.subscribeAll(filters(x.topic("a/b"), x.topic("c/+")))
	pub.publish(x.topic("c/d"), "before", 1)
	sub.given("before")
	sub.unsubscribe(x.topic("a/+"), x.topic("c/d"), x.topic("A/b"), x.topic("#"))
	pub.publish(x.topic("a/b"), "one", 1)
	pub.publish(x.topic("c/d"), "two", 1)
	sub.message("one")
	sub.message("two")
}

func unsubscribeMany(x *exam) {
	sub, pub := x.sub(), x.pub()
	names := []string{x.topic("a"), x.topic("b"), x.topic("c")}
	sub.subscribeAll(filters(names...))
	sub.unsubscribe(names...)
	if x.apart() {
		x.spread(sub)
	}
	for _, name := range names {
		pub.publish(name, "after", 1)
	}
	sub.nothing(pub, "the client had unsubscribed")
	for _, pk := range sub.held {
		if pk.FixedHeader.Type == packets.Unsuback {
			x.Violates("a second UNSUBACK came")
		}
	}
}

func unsubscribeCompletes(x *exam) {
	x.needsQoS(2)
	sub := x.sub()
	sub.subscribe(x.topic("t"), 2)
	sub.manual = true
	x.pub().publish(x.topic("t"), "m", 2)
	m := sub.message("m")
	sub.unsubscribe(x.topic("t"))
	sub.received(m)
	sub.ack(packets.Pubcomp, m.PacketID)
	sub.ping()
}

func unsubackCodes(x *exam) {
	c := x.sub()
	c.subscribeAll(filters(x.topic("a"), x.topic("c")))
	codes := c.unsubscribe(x.topic("a"), x.topic("b"), x.topic("c")).ReasonCodes
	if len(codes) != 3 {
		x.Violates("three filters, and UNSUBACK has %d codes", len(codes))
	}
	// 0x11 says that there was none; a server may also say success.
	if codes[0] == 0x11 || codes[2] == 0x11 {
		x.Violates("UNSUBACK says 0x11, no subscription existed, of one that did: % x", codes)
	}
}

func unsubackKnown(x *exam) {
	c := x.sub()
	c.subscribe(x.topic("a"), 1)
	for _, code := range c.unsubscribe(x.topic("a"), x.topic("b"), x.topic("#")).ReasonCodes {
		if !slices.Contains([]byte{0, 0x11, 0x80, 0x83, 0x87, 0x8f, 0x91}, code) {
			x.Violates("UNSUBACK has the code %#02x", code)
		}
	}
}
