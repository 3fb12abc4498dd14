package conformance

import (
	"errors"
	"fmt"
	"time"
)

// takingOver is a second connection of the same client id.
func takingOver() []entry {
	return []entry{
		{"take-over/closes-the-first", "MQTT-3.1.4-2", "MQTT-3.1.4-3", must, "a second connection of a client id ends the first one", takeOver},
		{"take-over/says-why", "", "§3.1.4", should, "the first connection is told 0x8E, session taken over", takeOverSays},
		{"take-over/session", "MQTT-3.1.2-4", "MQTT-3.1.2-5", must, "the second connection takes up the session of the first", takeOverSession},
		{"take-over/will", "MQTT-3.1.2-8", "MQTT-3.1.2-8", must, "the will of the first connection is published", takeOverWill},
		{"take-over/resends-publish", "MQTT-4.4.0-1", "MQTT-4.4.0-1", must, "a PUBLISH that the first connection did not acknowledge is sent again on the second, with its packet id", resendsPublish(takenOver, sameID)},
		{"take-over/resends-pubrel", "MQTT-4.4.0-1", "MQTT-4.4.0-1", must, "a PUBREL that the first connection did not acknowledge is sent again on the second, its PUBLISH is not", resendsPubrel(takenOver)},
		{"take-over/qos2-state-of-receiver", "MQTT-4.3.3-2", "MQTT-4.3.3-10", must, "a QoS 2 message that the second connection sends again is delivered once", inboundState(takenOver)},
		{"take-over/second-is-kept", "MQTT-3.3.5-1", "MQTT-3.3.4-2", must, "the end of the first connection takes nothing from the second: subscriptions made there have their messages", takeOverKept},
	}
}

func takeOver(x *exam) {
	first := x.sub()
	second, _ := x.connect("second", x.from, named(first.id))
	first.ends("another connection has its client id")
	second.ping()
}

func takeOverSays(x *exam) {
	first := x.sub()
	x.connect("second", x.from, named(first.id))
	if _, closed := first.closedIn(x.wait); !closed {
		x.Undecided("the first connection is not closed in %v", x.wait)
	}
	if first.said == nil {
		x.Violates("the first connection was closed without a DISCONNECT")
	}
	if first.said.ReasonCode != 0x8e {
		x.Violates("the first connection was told %#02x", first.said.ReasonCode)
	}
}

// takenOver leaves the end of a connection to the next one of its client id.
func takenOver(*client) {}

// takeOverKept takes over some times: the end of the first connection may come to the server before or
// after the second subscribes. A nats-server refuses an id that is taken over twice within a second.
func takeOverKept(x *exam) {
	c, pub := x.sub(), x.pub()
	for i := range 3 {
		x.After(1100 * time.Millisecond)
		c, _ = x.connect("next", x.to, named(c.id))
		c.subscribe(x.topic("t"), 1)
		pub.publish(x.topic("t"), fmt.Sprint("early", i), 1)
		c.message(fmt.Sprint("early", i))
	}
	c.linger()
	pub.publish(x.topic("t"), "late", 1)
	c.message("late")
}

func takeOverSession(x *exam) {
	first := x.sub(lasting)
	first.subscribe(x.topic("t"), 1)
	second, connack := x.connect("second", x.from, named(first.id), lasting)
	if !connack.SessionPresent {
		x.Violates("the CONNACK of the second connection has no Session Present")
	}
	x.pub().publish(x.topic("t"), "m", 1)
	second.message("m")
}

func takeOverWill(x *exam) {
	watcher := x.sub()
	watcher.subscribe(x.topic("w"), 1)
	first := x.pub(will(x.topic("w"), x.payload("will"), 1, false))
	x.connect("second", x.to, named(first.id))
	watcher.message("will")
}

// keepingAlive is the keep alive.
func keepingAlive() []entry {
	return []entry{
		{"keep-alive/ping", "MQTT-3.12.4-1", "MQTT-3.12.4-1", must, "PINGREQ is answered with PINGRESP", pingAnswered},
		{"keep-alive/ends", "MQTT-3.1.2-24", "MQTT-3.1.2-22", must, "a client that is silent for one and a half times its keep alive is disconnected", keepAliveEnds},
		{"keep-alive/will", "MQTT-3.1.2-24", "MQTT-3.1.2-22", must, "that is as if the network had failed: its will is published", keepAliveWill},
		{"keep-alive/pings-keep", "§3.1.2.10", "§3.1.2.10", must, "a client that pings in time is kept", keepAliveKept},
		{"keep-alive/clients-value", "", "MQTT-3.2.2-22", must, "without a Server Keep Alive it is the client's that counts", keepAliveOwn},
	}
}

func pingAnswered(x *exam) {
	c := x.sub()
	for range 3 {
		c.ping()
	}
}

// aliveBound is how long a broker may take beyond one and a half times a keep
// alive: the standard gives no time, and brokers look now and then.
const aliveBound = 12 * time.Second

// aliveLimit is the keep alive that holds of a client that asked for so many
// seconds: the server's own, where CONNACK has one.
func aliveLimit(x *exam, connack *packet, seconds uint16) time.Duration {
	if p := connack.Properties; p.ServerKeepAliveFlag {
		seconds = p.ServerKeepAlive
	}
	if seconds == 0 || seconds > 10 {
		x.Unsupported("the broker's own keep alive is %d s", seconds)
	}
	return time.Duration(seconds) * time.Second
}

// silent is a client that says nothing, with a keep alive in seconds: it must be
// disconnected.
func silent(x *exam, seconds uint16) {
	c, connack := x.connect("silent", x.to, keepAlive(seconds))
	limit := aliveLimit(x, connack, seconds)
	// That it is disconnected earlier is the server's right at any time.
	if took, closed := c.closedIn(limit*3/2 + aliveBound); !closed {
		x.connect("witness", x.to) // or the broker is stalled, and nothing is decided
		x.Violates("a client with a keep alive of %v is still connected after %v of silence", limit, took.Round(time.Millisecond))
	}
}

func keepAliveEnds(x *exam) { silent(x, 1) }

func keepAliveOwn(x *exam) {
	_, connack := x.connect("first", x.to, keepAlive(2))
	if connack.Properties.ServerKeepAliveFlag {
		x.Unsupported("the broker sets the keep alive itself, to %d s", connack.Properties.ServerKeepAlive)
	}
	silent(x, 2)
}

func keepAliveWill(x *exam) {
	watcher := x.sub()
	watcher.subscribe(x.topic("w"), 1)
	_, connack := x.connect("silent", x.from, keepAlive(1), will(x.topic("w"), x.payload("will"), 1, false))
	limit := aliveLimit(x, connack, 1)
	if _, err := watcher.find(x.labelled("will"), time.Now().Add(limit*3/2+aliveBound)); err != nil {
		watcher.missing("will of a client that fell silent", x.labelled("will"))
	}
}

func keepAliveKept(x *exam) {
	last := time.Now() // before the packet that was sent last
	c, connack := x.connect("pinging", x.to, keepAlive(2))
	limit := aliveLimit(x, connack, 2)
	for range 4 {
		x.After(limit * 9 / 20)
		sending := time.Now()
		err := c.pong(x.soon())
		switch took := time.Since(last); {
		case err == nil:
		case errors.Is(err, errLate):
			x.Undecided("no PINGRESP in %v", x.wait)
		case took > limit:
			x.Undecided("this machine took %v to ping, with a keep alive of %v", took.Round(time.Millisecond), limit)
		default:
			c.hungUp("PINGRESP")
		}
		last = sending
	}
}
