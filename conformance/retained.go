package conformance

import (
	"fmt"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
)

// retaining is retained messages.
func retaining() []entry {
	return []entry{
		{"retained/sent", "MQTT-3.3.1-6", "MQTT-3.3.1-9", must, "a new subscription is sent the retained message", retainedSent},
		{"retained/flag", "MQTT-3.3.1-8", "§3.8.3.1", must, "what is sent because of a new subscription has RETAIN set", retainedFlag},
		{"retained/every-topic", "MQTT-3.3.1-6", "MQTT-3.3.1-9", must, "a wildcard is sent the retained message of every topic it matches", retainedWildcard},
		{"retained/parent-level", "MQTT-3.3.1-6", "MQTT-3.3.1-9", must, "a filter with # is sent the retained message of its parent level too", retainedParent},
		{"retained/replaced", "MQTT-3.3.1-5", "MQTT-3.3.1-5", must, "the last message with RETAIN takes the place of the one before", retainedReplaced},
		{"retained/qos", "MQTT-3.3.1-5", "§3.3.1.3", must, "a retained message is kept with its QoS", retainedQoS},
		{"retained/qos0-replaces", "MQTT-3.3.1-7", "MQTT-3.3.1-5", must, "a QoS 0 message with RETAIN ends the one before", retainedQoS0},
		{"retained/removed", "MQTT-3.3.1-10", "MQTT-3.3.1-6", must, "an empty message with RETAIN removes the one that was there", retainedRemoved},
		{"retained/empty-is-not-kept", "MQTT-3.3.1-11", "MQTT-3.3.1-7", must, "an empty message is not kept", retainedEmpty},
		{"retained/removal-is-delivered", "MQTT-3.3.1-10", "MQTT-3.3.1-6", must, "subscribers of the time get the empty message", retainedRemovalSent},
		{"retained/not-without-flag", "MQTT-3.3.1-12", "MQTT-3.3.1-8", must, "a message without RETAIN is not kept and removes nothing", retainedNot},
		{"retained/flag-of-live", "MQTT-3.3.1-9", "MQTT-3.3.1-12", must, "to an established subscription it comes without RETAIN", retainedLive},
		{"retained/outlives-session", "MQTT-3.1.2-7", "§4.1", must, "it stays when the session that sent it ends", retainedOutlives},
		{"retained/handling-0", "", "MQTT-3.3.1-9", must, "Retain Handling 0: sent with every subscription", handling(0, true, true)},
		{"retained/handling-1", "", "MQTT-3.3.1-10", must, "Retain Handling 1: sent where the subscription is new", handling(1, true, false)},
		{"retained/handling-2", "", "MQTT-3.3.1-11", must, "Retain Handling 2: not sent", handling(2, false, false)},
		{"retained/as-published", "", "MQTT-3.3.1-13", must, "with Retain As Published a message comes with the RETAIN that it was sent with", asPublished},
		{"retained/expires", "", "MQTT-3.3.2-5", must, "a retained message that expired is not sent", retainedExpires},
	}
}

// kept publishes a retained message and waits until it is acknowledged.
func kept(x *exam, name, label string, qos byte) *client {
	x.needsRetain()
	pub := x.pub()
	pub.publish(x.topic(name), label, qos, retain)
	return pub
}

func retainedSent(x *exam) {
	kept(x, "t", "m", 1)
	x.subscribed(x.topic("t"), 1, "m")
}

// retainedFlag allows a copy without RETAIN: a server may route the message itself after its
// acknowledgement, to a subscription that is there by then.
func retainedFlag(x *exam) {
	kept(x, "t", "m", 1)
	sub, m := x.subscribed(x.topic("t"), 1, "m")
	if m.FixedHeader.Retain {
		return
	}
	flagged := func(pk *packet) bool { return x.labelled("m")(pk) && pk.FixedHeader.Retain }
	if _, err := sub.find(flagged, x.soon()); err != nil {
		x.Violates("it came without RETAIN")
	}
}

func retainedWildcard(x *exam) {
	x.needsWildcards()
	pub := kept(x, "a", "a", 1)
	for _, name := range []string{"b", "a/c", "a/c/d"} {
		pub.publish(x.topic(name), name, 1, retain)
	}
	sub, _ := x.subscribed(x.topic("#"), 1, "a/c/d")
	for _, name := range []string{"a", "b", "a/c"} {
		sub.message(name)
	}
}

func retainedParent(x *exam) {
	x.needsWildcards()
	kept(x, "a", "a", 1).publish(x.topic("a/b"), "a/b", 1, retain)
	sub, _ := x.subscribed(x.topic("a/#"), 1, "a/b")
	sub.message("a")
}

func retainedReplaced(x *exam) {
	pub := kept(x, "t", "old", 1)
	pub.publish(x.topic("t"), "new", 1, retain)
	sub, _ := x.subscribed(x.topic("t"), 1, "new")
	if x.apart() {
		return // the old one may have come while the new one was on its way
	}
	sub.nothing(pub, "it was replaced by another retained message")
}

func retainedQoS(x *exam) {
	for qos := range byte(3) {
		if !x.offersQoS(qos) {
			continue
		}
		name := qosLabel(qos)
		kept(x, name, name, max(qos, 1)) // acknowledged, so that it is there
		_, m := x.subscribed(x.topic(name), 2, name)
		if m.FixedHeader.Qos != max(qos, 1) {
			x.Violates("a retained message of QoS %d came with QoS %d to a subscription with QoS 2", max(qos, 1), m.FixedHeader.Qos)
		}
	}
}

func retainedQoS0(x *exam) {
	pub := kept(x, "t", "old", 1)
	pub.publish(x.topic("t"), "new", 0, retain)
	for deadline := x.soon(); isKept(x, "t", "old"); { // nothing says when a message of QoS 0 has been taken
		if time.Now().After(deadline) {
			x.Violates("the old message is still sent to new subscriptions, after %v", x.wait)
		}
	}
}

// isKept looks whether a new subscription is sent a retained message.
func isKept(x *exam, name, label string) bool {
	look := x.sub()
	if code := look.trySubscribe([]packets.Subscription{{Filter: x.topic(name), Qos: 1}}).ReasonCodes[0]; code >= 0x80 {
		x.Unsupported("the broker refused a subscription with %#02x", code)
	}
	helper, _ := x.connect(fmt.Sprintf("look%d", len(x.clients)), x.to)
	all := look.rest(helper)
	look.disconnect()
	helper.disconnect()
	for _, m := range all {
		if x.labelled(label)(m) {
			return true
		}
	}
	return false
}

func retainedRemoved(x *exam) {
	pub := kept(x, "t", "m", 1)
	pub.publish(x.topic("t"), "", 1, retain, empty)
	if !x.eventually(func() bool { return !isKept(x, "t", "m") }) {
		x.Violates("it is still sent to new subscriptions")
	}
}

func empty(pk *packets.Packet) { pk.Payload = nil }

func retainedEmpty(x *exam) {
	x.needsRetain()
	pub := x.pub()
	pub.publish(x.topic("t"), "", 1, retain, empty)
	sub := x.sub()
	sub.subscribe(x.topic("t"), 1)
	sub.nothing(pub, "it is an empty message, sent with RETAIN before the subscription")
}

func retainedRemovalSent(x *exam) {
	x.needsRetain()
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	pub.publish(x.topic("t"), "", 1, retain, empty)
	sub.await("empty message", func(pk *packet) bool { return pk.TopicName == x.topic("t") && len(pk.Payload) == 0 })
}

func retainedNot(x *exam) {
	pub := kept(x, "t", "kept", 1)
	pub.publish(x.topic("t"), "live", 1)
	pub.publish(x.topic("u"), "live", 1)
	sub, _ := x.subscribed(x.topic("t"), 1, "kept")
	sub.subscribe(x.topic("u"), 1)
	sub.nothing(pub, "it was sent without RETAIN, before the subscription")
}

func retainedLive(x *exam) {
	x.needsRetain()
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	pub.publish(x.topic("t"), "m", 1, retain)
	if sub.message("m").FixedHeader.Retain {
		x.Violates("it came with RETAIN to a subscription that was there before")
	}
}

func retainedOutlives(x *exam) {
	kept(x, "t", "m", 1).disconnect()
	x.subscribed(x.topic("t"), 1, "m")
}

func handling(n byte, first, second bool) func(*exam) {
	return func(x *exam) {
		pub := kept(x, "t", "m", 1)
		x.subscribed(x.topic("t"), 1, "m") // it is there
		c := x.sub()
		for i, want := range []bool{first, second} {
			c.subscribeAll([]packets.Subscription{{Filter: x.topic("t"), Qos: 1, RetainHandling: n}})
			if want {
				c.message("m")
			} else {
				c.nothing(pub, fmt.Sprintf("it is subscription %d of the same filter, with Retain Handling %d", i+1, n))
			}
		}
	}
}

func asPublished(x *exam) {
	x.needsRetain()
	sub, pub := x.sub(), x.pub()
	sub.subscribeAll([]packets.Subscription{{Filter: x.topic("t"), Qos: 1, RetainAsPublished: true}})
	pub.publish(x.topic("t"), "with", 1, retain)
	pub.publish(x.topic("t"), "without", 1)
	if !sub.message("with").FixedHeader.Retain {
		x.Violates("a message that was sent with RETAIN came without it")
	}
	if sub.message("without").FixedHeader.Retain {
		x.Violates("a message that was sent without RETAIN came with it")
	}
}

func retainedExpires(x *exam) {
	x.needsRetain()
	pub := x.pub()
	pub.publish(x.topic("t"), "m", 1, retain, with(func(p *packets.Properties) { p.MessageExpiryInterval = 1 }))
	x.After(3500 * time.Millisecond)
	sub := x.sub()
	sub.subscribe(x.topic("t"), 1)
	sub.nothing(pub, "it expired 1 s after it was sent, 2.5 s ago")
}
