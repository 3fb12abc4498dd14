package conformance

import (
	"errors"
	"fmt"
	"time"
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
		{"share/leave", "", "MQTT-3.10.4-2", must, "who unsubscribes is no member any more", leaveGroup},
	}
}

// member subscribes as a member of a group of the check's own.
func member(x *exam, group, filter string, qos byte) *client {
	c := x.sub()
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

// either waits for a message that must come to one of several clients.
func (x *exam) either(all []*client, label string) {
	came := func(deadline time.Time) bool {
		for {
			for _, c := range all {
				switch _, err := c.find(x.labelled(label), time.Now().Add(20*time.Millisecond)); {
				case err == nil:
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
		return
	}
	x.delivers()
	if came(time.Now()) {
		x.Undecided("message %q came only after %v: the broker or this machine is slow", label, x.wait)
	}
	x.Violates("message %q came to no member in %v, while another client gets its messages", label, x.wait)
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
