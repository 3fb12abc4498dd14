package conformance

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
)

// sessions is what outlives a connection, and what does not.
func sessions() []entry {
	return []entry{
		{"session/present", "MQTT-3.2.2-2", "MQTT-3.2.2-3", must, "a session that is stored is told of as present", sessionPresent(true)},
		{"session/present-empty", "MQTT-3.2.2-2", "MQTT-3.2.2-3", must, "that is so of a session without subscriptions: it exists, even if the rest of its state is empty (3.1.1 section 3.1.2.4, 5.0 section 4.1)", sessionPresent(false)},
		{"session/not-present", "MQTT-3.2.2-3", "MQTT-3.1.2-6", must, "where no session is stored, none is told of", sessionNotPresent},
		{"session/subscriptions-last", "MQTT-3.1.2-4", "MQTT-3.1.2-5", must, "a session that is taken up again has its subscriptions", subscriptionsLast},
		{"session/queued", "MQTT-3.1.2-5", "MQTT-4.5.0-1", must, "messages of QoS 1 and 2 for a client that is away wait for it", queued},
		{"session/clean-discards", "MQTT-3.1.2-6", "MQTT-3.1.2-4", must, "a clean start discards the session", cleanDiscards},
		{"session/clean-discards-ids", "MQTT-3.1.2-6", "MQTT-3.1.2-4", must, "after a clean start, a packet id of the session before stands for another QoS 2 message", cleanDiscardsIDs},
		{"session/clean-is-not-stored", "MQTT-3.1.2-6", "MQTT-4.1.0-2", must, "a session that is to end with its connection is not stored", cleanNotStored},
		{"session/resends-publish", "MQTT-4.4.0-1", "MQTT-4.4.0-1", must, "a PUBLISH that was not acknowledged is sent again with its packet id", resendsPublish((*client).drop, sameID)},
		{"session/resend-has-dup", "MQTT-3.3.1-1", "MQTT-3.3.1-1", must, "a PUBLISH that is sent again has DUP set", resendsPublish((*client).drop, hasDup)},
		{"session/resends-pubrel", "MQTT-4.4.0-1", "MQTT-4.4.0-1", must, "a PUBREL that was not acknowledged is sent again with its packet id, its PUBLISH is not", resendsPubrel((*client).drop)},
		{"session/qos2-state-of-receiver", "MQTT-4.3.3-2", "MQTT-4.3.3-10", must, "a QoS 2 message that is sent again after a reconnect is delivered once", inboundState((*client).drop)},
		{"session/no-resend-meanwhile", "", "MQTT-4.4.0-1", must, fmt.Sprintf("while the connection lasts, nothing is sent again, in %v", retryTimer), noResend},
		{"session/refused-is-not-sent-again", "", "MQTT-4.4.0-2", must, "a refused message is not sent again", refusedIsDone},
		{"session/lasts-while-connected", "", "MQTT-4.1.0-1", must, "a session lasts while its connection is open, longer than its expiry interval", lastsWhileConnected},
		{"session/expires", "", "MQTT-4.1.0-2", must, "a session is discarded once its expiry interval has passed", sessionExpires},
		{"session/lasts-until-expiry", "", "MQTT-3.1.2-23", must, "a session is stored while its expiry interval lasts", sessionLasts},
		{"session/expiry-of-disconnect", "", "§3.14.2.2.2", must, "the expiry interval in DISCONNECT takes the place of that in CONNECT", expiryOfDisconnect},
		{"session/expiry-not-raised-from-zero", "", "§3.14.2.2.2", must, "a session that was to end with its connection is not made to last by DISCONNECT", expiryNotRaised},
	}
}

// sessionPresent takes a session up where the publishers are, once, as that makes one
// where none is. Another node may learn of it late: each session is left for longer.
func sessionPresent(subscribes bool) func(*exam) {
	return func(x *exam) {
		for _, away := range []time.Duration{0, 500 * time.Millisecond, 2 * time.Second, x.wait} {
			c := x.sub(lasting)
			if subscribes {
				c.subscribe(x.topic("t"), 1)
			}
			c.disconnect()
			x.After(away)
			again, connack := x.connect("again", x.from, named(c.id), lasting)
			again.disconnect()
			if connack.SessionPresent {
				return
			}
			if !x.apart() {
				break
			}
		}
		x.Violates("the CONNACK has no Session Present for a session that is stored")
	}
}

func sessionNotPresent(x *exam) {
	if _, connack := x.connect("new", x.to, lasting); connack.SessionPresent {
		x.Violates("the CONNACK has Session Present for a client id that was never used")
	}
}

func subscriptionsLast(x *exam) {
	c := x.sub(lasting)
	c.subscribe(x.topic("t"), 1)
	c.drop()
	again, _ := x.connect("again", x.to, named(c.id), lasting)
	pub := x.pub()
	pub.publish(x.topic("t"), "m", 1)
	again.message("m")
}

func queued(x *exam) {
	c := x.sub(lasting)
	c.subscribe(x.topic("t"), 2)
	c.disconnect()
	pub := x.pub()
	for _, qos := range []byte{1, 2} {
		x.needsQoS(qos)
		pub.publish(x.topic("t"), qosLabel(qos), qos)
	}
	again, _ := x.connect("again", x.to, named(c.id), lasting)
	for _, qos := range []byte{1, 2} {
		again.message(qosLabel(qos))
	}
}

func qosLabel(qos byte) string { return "qos" + string('0'+qos) }

func cleanDiscards(x *exam) {
	c := x.sub(lasting)
	c.subscribe(x.topic("t"), 1)
	c.disconnect()
	pub := x.pub()
	pub.publish(x.topic("t"), "old", 1)
	again, connack := x.connect("again", x.to, named(c.id))
	if connack.SessionPresent {
		x.Violates("the CONNACK to a clean start has Session Present")
	}
	x.spread(again)
	pub.publish(x.topic("t"), "new", 1)
	again.nothing(pub, "its session was discarded")
}

// cleanDiscardsIDs does not release a QoS 2 message, and uses its packet id after a clean start.
// halfPublished leaves the broker with a QoS 2 message of a publisher that has not released it yet.
func halfPublished(x *exam, message string) (sub, pub *client, sent packets.Packet) {
	x.needsQoS(2)
	sub = x.sub()
	sub.subscribe(x.topic("t"), 2)
	pub = x.pub(lasting)
	sent = pub.publishing(x.topic("t"), message, 2)
	pub.accepted(pub.await("PUBREC", answerTo(packets.Pubrec, sent.PacketID)))
	return sub, pub, sent
}

func cleanDiscardsIDs(x *exam) {
	sub, pub, old := halfPublished(x, "old")
	pub.disconnect()
	again, _ := x.connect("again", x.from, named(pub.id))
	again.nextID = old.PacketID - 1
	again.publish(x.topic("t"), "new", 2)
	sub.message("new")
}

func cleanNotStored(x *exam) {
	c := x.sub()
	c.ownExpiry()
	c.subscribe(x.topic("t"), 1)
	c.disconnect()
	if _, connack := x.connect("again", x.to, named(c.id), lasting); connack.SessionPresent {
		x.Violates("the session of a client that asked for none is stored")
	}
}

// unacknowledged leaves a message with a client that goes without acknowledging
// it.
func unacknowledged(x *exam, topic string, qos byte) (*client, *packet) {
	x.needsQoS(qos)
	c := x.sub(lasting)
	c.subscribe(x.topic(topic), qos)
	c.manual = true
	x.pub().publish(x.topic(topic), "m", qos)
	return c, c.message("m")
}

// unreleased leaves a PUBREL with a client that goes without answering it.
func unreleased(x *exam, topic string) (*client, *packet) {
	c, first := unacknowledged(x, topic, 2)
	c.received(first)
	return c, first
}

// sendsAgain has a check wait for what a broker sends again after a reconnect. MQTT does not say how
// soon: nats-server does by default after 30 s.
func (x *exam) sendsAgain() { x.wait *= 4 }

// resendsPublish leaves a message without an answer. Leave ends the connection, or leaves that to the next one.
func resendsPublish(leave func(*client), hold func(x *exam, first, again *packet)) func(*exam) {
	return func(x *exam) {
		x.sendsAgain()
		for _, qos := range []byte{1, 2} {
			c, first := unacknowledged(x, "t", qos)
			leave(c)
			again, _ := x.connect("again", x.to, named(c.id), lasting)
			hold(x, first, again.message("m"))
		}
	}
}

func sameID(x *exam, first, again *packet) {
	if again.PacketID != first.PacketID {
		x.Violates("a message of QoS %d was sent with packet id %d, and again with %d", first.FixedHeader.Qos, first.PacketID, again.PacketID)
	}
}

func hasDup(x *exam, _, again *packet) {
	if !again.FixedHeader.Dup {
		x.Violates("a message of QoS %d is sent again without DUP", again.FixedHeader.Qos)
	}
}

func resendsPubrel(leave func(*client)) func(*exam) {
	return func(x *exam) {
		x.sendsAgain()
		c, first := unreleased(x, "t")
		leave(c)
		again, _ := x.connect("again", x.to, named(c.id), lasting)
		again.await("PUBREL", answerTo(packets.Pubrel, first.PacketID))
		again.nothing(x.pub(), "its PUBREC was answered before the reconnect")
	}
}

func inboundState(leave func(*client)) func(*exam) {
	return func(x *exam) {
		sub, pub, sent := halfPublished(x, "m")
		leave(pub)
		again, connack := x.connect("again", x.from, named(pub.id), lasting)
		if !connack.SessionPresent {
			x.Violates("the session of the publisher is not there any more")
		}
		sent.FixedHeader.Dup = true
		again.send(sent)
		again.complete(sent)
		sub.message("m")
		again.nextID = sent.PacketID
		sub.nothing(again, "the message was sent again with the packet id of one that was not released")
	}
}

// retryTimer is for how long an answer is kept back to see whether the broker sends
// again. Some have longer timers, but every run waits for this one, three times.
const retryTimer = 8 * time.Second

// noResend leaves one message after the other without an answer: a broker may not serve
// anybody while it waits for one.
func noResend(x *exam) {
	message := x.labelled("m")
	leave := func(c *client, again func(*packet) bool, what string) {
		x.After(retryTimer)
		late := c.pong(x.soon()) // what it sent meanwhile comes before that
		switch {
		case slices.ContainsFunc(c.held, again):
			x.Violates("%s: %s comes again within %v: it is not answered, but the connection lasts", c.name, what, retryTimer)
		case errors.Is(late, errLate):
			x.Undecided("%s: no PINGRESP in %v after %v: the broker or this machine stood still", c.name, x.wait, retryTimer)
		case late != nil: // which a server may do to a client that answers nothing
			x.Undecided("%s: the broker closed the connection within %v", c.name, retryTimer)
		}
		c.drop()
	}
	c, _ := unacknowledged(x, "one", 1)
	leave(c, message, "PUBLISH")
	if !x.offersQoS(2) {
		return
	}
	c, _ = unacknowledged(x, "two", 2)
	leave(c, message, "PUBLISH")
	c, first := unreleased(x, "released")
	pubrel := answerTo(packets.Pubrel, first.PacketID)
	leave(c, func(pk *packet) bool { return message(pk) || pubrel(pk) }, "PUBLISH or PUBREL")
}

// expiryBound is how long a broker may take to discard what expired: the standard
// gives no time, and brokers look now and then.
const expiryBound = time.Minute

func sessionExpires(x *exam) {
	c := x.sub(lasting, expiry(1))
	c.ownExpiry()
	c.disconnect()
	for _, away := range []time.Duration{4 * time.Second, expiryBound} {
		x.After(away)
		again, connack := x.connect("again", x.to, named(c.id), lasting, expiry(1))
		if !connack.SessionPresent {
			return
		}
		again.ownExpiry()
		again.disconnect()
	}
	x.Violates("the session is present %v after its connection ended, with an expiry interval of 1 s", expiryBound)
}

func sessionLasts(x *exam) {
	c := x.sub(lasting, expiry(600))
	c.ownExpiry()
	c.drop()
	x.After(time.Second)
	if _, connack := x.connect("again", x.to, named(c.id), lasting); !connack.SessionPresent {
		x.Violates("the session is gone after 1 s, with an expiry interval of 600 s")
	}
}

func (c *client) disconnectWith(seconds uint32) {
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Disconnect}}
	pk.Properties.SessionExpiryInterval, pk.Properties.SessionExpiryIntervalFlag = seconds, true
	c.send(pk)
	if _, closed := c.closedIn(c.x.wait); !closed {
		c.drop()
	}
}

func expiryOfDisconnect(x *exam) {
	c := x.sub(lasting)
	c.disconnectWith(0)
	if _, connack := x.connect("again", x.to, named(c.id), lasting); connack.SessionPresent {
		x.Violates("the session is present, though DISCONNECT set its expiry interval to 0")
	}
}

func expiryNotRaised(x *exam) {
	c := x.sub()
	c.ownExpiry()
	c.disconnectWith(300)
	if _, connack := x.connect("again", x.to, named(c.id), lasting); connack.SessionPresent {
		x.Violates("the session is present, though CONNECT had set its expiry interval to 0")
	}
}

// refusedIsDone refuses messages with a code of 0x80 or more. A server treats them as acknowledged.
func refusedIsDone(x *exam) {
	for qos, kind := range map[byte]byte{1: packets.Puback, 2: packets.Pubrec} {
		c, m := unacknowledged(x, qosLabel(qos), qos)
		c.refuse(kind, m.PacketID)
		c.ping()
		c.drop()
		again, _ := x.connect(c.name+" again", x.to, named(c.id), lasting)
		again.nothing(x.pub(), fmt.Sprintf("the client refused it with %s", packets.PacketNames[kind]))
	}
}

// refuse answers a message with the code for a topic name that is not valid.
func (c *client) refuse(kind byte, id uint16) {
	c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: kind}, PacketID: id, ReasonCode: packets.ErrTopicNameInvalid.Code})
}

func lastsWhileConnected(x *exam) {
	c, _ := x.connect("short", x.to, lasting, expiry(1))
	c.ownExpiry()
	c.subscribe(x.topic("t"), 1)
	x.After(2500 * time.Millisecond)
	x.pub().publish(x.topic("t"), "m", 1)
	c.message("m")
	second, connack := x.connect("second", x.to, named(c.id), lasting)
	if !connack.SessionPresent {
		x.Violates("a session with an expiry interval of 1 s is gone after 2.5 s, and its client never left")
	}
	second.ping()
}
