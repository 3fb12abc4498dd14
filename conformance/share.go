package conformance

import (
	"errors"
	"fmt"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
)

// sharing is shared subscriptions, of MQTT 5.
func sharing() []entry {
	return []entry{
		{"share/one-of-them", "", "§4.8.2", must, "a message goes to one member of the group", oneOfThem},
		{"share/beside-others", "", "§4.8.2", must, "groups and plain subscriptions get their own copy each", besideOthers},
		{"share/granted-qos", "", "MQTT-4.8.2-3", must, "a message comes with the QoS that the member was granted", sharedQoS},
		{"share/filter", "", "§4.8.2", must, "the filter after the group's name matches as any other", sharedFilter},
		{"share/name", "", "MQTT-4.8.2-1", must, "a group's name is not empty", invalidShares("$share//%s", "$share/")},
		{"share/name-characters", "", "MQTT-4.8.2-2", must, "a group's name has no wildcard, and a filter follows", invalidShares("$share/a+/%s", "$share/#/%s", "$share/a", "$share/a/")},
		{"share/no-local", "", "MQTT-3.8.3-4", must, "No Local on a shared subscription is a protocol error", sharedNoLocal},
		{"share/completes", "", "MQTT-4.8.2-4", must, "the exchange of a QoS 2 message with a member is completed after it reconnects", halfTaken},
		{"share/session-ended", "", "MQTT-4.8.2-5", must, "a QoS 2 message on its way to a member whose session ends goes to no other", halfTakenAndEnded},
		{"share/refused", "", "MQTT-4.8.2-6", must, "a message refused by a member goes to no other", refusedByMember},
		{"share/leave", "", "MQTT-3.10.4-2", must, "who unsubscribes is no member any more", leaveGroup},
	}
}

// member subscribes as a member of a group of the check's own.
func member(x *exam, group, filter string, qos byte, change ...func(*packets.Packet)) *client {
	c := x.sub(change...)
	c.subscribe("$share/"+x.token+group+"/"+filter, qos)
	return c
}

func oneOfThem(x *exam) {
	x.needsShared()
	a, b, pub := member(x, "g", x.topic("t"), 1), member(x, "g", x.topic("t"), 1), x.pub()
	const count = 20
	for i := range count {
		pub.publish(x.topic("t"), fmt.Sprint("m", i), 1)
	}
	members := []*client{a, b}
	for i := range count {
		x.either(members, fmt.Sprint("m", i))
	}
	for _, c := range members {
		c.nothing(pub, "a member of the group has had it")
	}
}

// either waits for a message that must come to one of several clients, and answers which.
func (x *exam) either(all []*client, label string) (chosen *client, m *packet) {
	came := func(deadline time.Time) bool {
		for {
			for _, c := range all {
				switch pk, err := c.find(x.labelled(label), time.Now().Add(20*time.Millisecond)); {
				case err == nil:
					chosen, m = c, pk
					return true
				case !errors.Is(err, errLate):
					c.hungUp("a message")
				}
			}
			if time.Now().After(deadline) {
				return false
			}
		}
	}
	if came(x.soon()) {
		return chosen, m
	}
	x.delivers()
	if came(time.Now()) {
		x.Undecided("message %q came only after %v: the broker or this machine is slow", label, x.wait)
	}
	x.Violates("message %q came to no member in %v, while another client gets its messages", label, x.wait)
	return nil, nil
}

func besideOthers(x *exam) {
	x.needsShared()
	one, other, plain := member(x, "g", x.topic("t"), 1), member(x, "h", x.topic("t"), 1), x.sub()
	plain.subscribe(x.topic("t"), 1)
	x.pub().publish(x.topic("t"), "m", 1)
	one.message("m")
	other.message("m")
	plain.message("m")
}

func sharedQoS(x *exam) {
	x.needsShared()
	for qos := range byte(2) {
		c := member(x, qosLabel(qos), x.topic(qosLabel(qos)), qos)
		x.pub().publish(x.topic(qosLabel(qos)), "m", 1)
		if m := c.message("m"); m.FixedHeader.Qos > qos {
			x.Violates("a message came with QoS %d to a member that was granted %d", m.FixedHeader.Qos, qos)
		}
	}
}

func sharedFilter(x *exam) {
	x.needsShared()
	x.needsWildcards()
	c, pub := member(x, "g", x.topic("a/+/#"), 1), x.pub()
	for _, name := range []string{"a/b", "a", "b/b", "a/b/c"} {
		pub.publish(x.topic(name), name, 1)
	}
	c.message("a/b")
	c.message("a/b/c")
	c.nothing(pub, "its topic does not match a/+/#")
}

// invalidShares are shared filters that must not be granted; %s is a topic of
// the check.
func invalidShares(all ...string) func(*exam) {
	return func(x *exam) {
		x.needsShared()
		for _, f := range all {
			if n := len(f); n > 2 && f[n-2:] == "%s" {
				f = fmt.Sprintf(f, x.topic("t"))
			}
			c := x.sub()
			c.notGranted(f)
			c.drop()
		}
	}
}

func sharedNoLocal(x *exam) {
	x.needsShared()
	c := x.sub()
	c.raw("SUBSCRIBE with No Local on a shared filter", frame(0x82, u16(1), props(V5), str("$share/"+x.token+"/"+x.topic("t")), []byte{1 | 1<<2}))
	c.ends("it is a protocol error to set No Local on a shared subscription")
}

func leaveGroup(x *exam) {
	x.needsShared()
	a, b, pub := member(x, "g", x.topic("t"), 1), member(x, "g", x.topic("t"), 1), x.pub()
	a.unsubscribe("$share/" + x.token + "g/" + x.topic("t"))
	if x.apart() {
		x.spread(a)
	}
	for i := range 6 {
		pub.publish(x.topic("t"), fmt.Sprint("m", i), 1)
	}
	for i := range 6 {
		b.message(fmt.Sprint("m", i))
	}
	a.nothing(pub, "the client had left the group")
}

// chosen publishes a message to a group of two, which acknowledge nothing. It returns the member that
// got the message, and the other one.
func chosen(x *exam, qos byte) (c, other *client, m *packet) {
	x.needsShared()
	x.needsQoS(qos)
	members := []*client{member(x, "g", x.topic("t"), qos, lasting), member(x, "g", x.topic("t"), qos, lasting)}
	for _, c := range members {
		c.manual = true
	}
	x.pub().publish(x.topic("t"), "m", qos)
	c, m = x.either(members, "m")
	if c == members[0] {
		return c, members[1], m
	}
	return c, members[0], m
}

// halfTaken drops the connection between PUBREL and PUBCOMP.
func halfTaken(x *exam) {
	x.sendsAgain()
	c, other, m := chosen(x, 2)
	c.received(m)
	c.drop()
	again, _ := x.connect("again", x.to, named(c.id), lasting)
	again.manual = true
	again.await("PUBREL", answerTo(packets.Pubrel, m.PacketID))
	again.ack(packets.Pubcomp, m.PacketID)
	other.nothing(x.pub(), "the other member of the group has had half of it")
}

func halfTakenAndEnded(x *exam) {
	c, other, m := chosen(x, 2)
	c.received(m)
	c.drop()
	x.connect("new", x.to, named(c.id)) // ends the session
	other.nothing(x.pub(), "it was on its way to a member whose session ended")
}

func refusedByMember(x *exam) {
	c, other, m := chosen(x, 1)
	c.refuse(packets.Puback, m.PacketID)
	c.ping()
	other.nothing(x.pub(), "the other member of the group refused it")
}
