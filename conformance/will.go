package conformance

import (
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
)

// wills is the message of who did not say goodbye.
func wills() []entry {
	return []entry{
		{"will/published", "MQTT-3.1.2-8", "MQTT-3.1.2-8", must, "the will is published when the connection ends without DISCONNECT", willPublished},
		{"will/fields", "MQTT-3.1.2-9", "MQTT-3.1.2-9", must, "it has the topic, payload and QoS of the CONNECT", willFields},
		{"will/not-on-disconnect", "MQTT-3.14.4-3", "MQTT-3.14.4-3", must, "DISCONNECT discards it", willDiscarded},
		{"will/once", "MQTT-3.1.2-10", "MQTT-3.1.2-10", must, "it is published once, also where the client comes back", willOnce},
		{"will/none", "MQTT-3.1.2-12", "§3.1.2.5", must, "without a will none is published", willNone},
		{"will/not-retained", "MQTT-3.1.2-16", "MQTT-3.1.2-14", must, "without Will Retain it is no retained message", willRetain(false)},
		{"will/retained", "MQTT-3.1.2-17", "MQTT-3.1.2-15", must, "with Will Retain it is a retained message", willRetain(true)},
		{"will/after-protocol-error", "MQTT-3.1.2-8", "MQTT-3.1.2-8", must, "it is published where the server ends the connection for a malformed packet", willOnError},
		{"will/after-second-connect", "MQTT-3.1.2-8", "MQTT-3.1.2-8", must, "it is published where the server ends the connection for a second CONNECT", willOnSecond},
		{"will/disconnect-with-will", "", "§3.14.2.1", must, "DISCONNECT with code 4 publishes it", willOn4},
		{"will/delayed", "", "MQTT-3.1.2-8", must, "it is published once its delay has passed, and not before", willDelayed},
		{"will/delay-ends-with-session", "", "MQTT-3.1.2-8", must, "the end of the session ends the delay", willSessionEnd},
		{"will/not-when-back", "", "MQTT-3.1.3-9", must, "a client that is back before the delay has passed has no will published", willBack},
		{"will/properties", "", "§3.1.3.2", must, "it has the properties of the CONNECT", willProperties},
	}
}

// mourner is a client with a will, and who watches for that.
func mourner(x *exam, retain bool, change ...func(*packets.Packet)) (dying, watcher *client) {
	watcher = x.sub()
	watcher.subscribe(x.topic("w"), 1)
	change = append(change, will(x.topic("w"), x.payload("will"), 1, retain))
	return x.pub(change...), watcher
}

func willPublished(x *exam) {
	dying, watcher := mourner(x, false)
	dying.drop()
	watcher.message("will")
}

func willFields(x *exam) {
	for qos := range byte(3) {
		if !x.offersQoS(qos) {
			continue
		}
		watcher := x.sub()
		watcher.subscribe(x.topic("w"), 2)
		x.pub(will(x.topic("w"), x.payload("will"), qos, false)).drop()
		m := watcher.message("will")
		if m.TopicName != x.topic("w") || m.FixedHeader.Qos != qos {
			x.Violates("a will of QoS %d came on %q with QoS %d", qos, m.TopicName, m.FixedHeader.Qos)
		}
		watcher.disconnect()
	}
}

func willDiscarded(x *exam) {
	dying, watcher := mourner(x, false)
	dying.disconnect()
	watcher.nothing(x.pub(), "its client had sent DISCONNECT")
}

func willOnce(x *exam) {
	dying, watcher := mourner(x, false)
	dying.drop()
	watcher.message("will")
	back, _ := x.connect("back", x.from, named(dying.id))
	back.drop() // this time without a will
	x.After(300 * time.Millisecond)
	watcher.nothing(x.pub(), "the will was published before")
}

func willNone(x *exam) {
	watcher := x.sub()
	watcher.subscribe(x.topic("#"), 1)
	x.pub().drop()
	x.After(300 * time.Millisecond)
	watcher.nothing(x.pub(), "the client had no will")
}

func willRetain(want bool) func(*exam) {
	return func(x *exam) {
		x.needsRetain()
		x.retained = append(x.retained, x.topic("w"))
		dying, watcher := mourner(x, want)
		dying.drop()
		if watcher.message("will").FixedHeader.Retain {
			x.Violates("it came with RETAIN to a subscription that was there before")
		}
		if want {
			x.subscribed(x.topic("w"), 1, "will")
		} else if isKept(x, "w", "will") {
			x.Violates("it is sent to new subscriptions")
		}
	}
}

func willOnError(x *exam) {
	dying, watcher := mourner(x, false)
	dying.raw("PUBLISH with QoS 3", frame(0x36, str(x.topic("t")), u16(1), props(x.version)))
	watcher.message("will")
}

func willOnSecond(x *exam) {
	dying, watcher := mourner(x, false)
	dying.send(x.connection(dying.id))
	watcher.message("will")
}

func willOn4(x *exam) {
	dying, watcher := mourner(x, false)
	dying.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Disconnect}, ReasonCode: 4})
	dying.drop()
	watcher.message("will")
}

func delay(seconds uint32) func(*packets.Packet) {
	return func(pk *packets.Packet) { pk.Connect.WillProperties.WillDelayInterval = seconds }
}

func willDelayed(x *exam) {
	const seconds = 2
	dying, watcher := mourner(x, false, expiry(60), delay(seconds))
	began := time.Now()
	dying.drop()
	if _, err := watcher.find(x.labelled("will"), began.Add(seconds*time.Second+x.wait)); err != nil {
		watcher.missing("will after its delay", x.labelled("will"))
	}
	// The delay is in whole seconds: a server that counts those may begin up to
	// one early.
	if took := time.Since(began); took < (seconds-1)*time.Second {
		x.Violates("the will came after %v, with a delay of %d s", took.Round(time.Millisecond), seconds)
	}
}

func willSessionEnd(x *exam) {
	dying, watcher := mourner(x, false, delay(120)) // and no session
	dying.ownExpiry()
	dying.drop()
	watcher.message("will")
}

func willBack(x *exam) {
	dying, watcher := mourner(x, false, lasting, delay(2))
	began := time.Now()
	dying.drop()
	x.connect("back", x.from, named(dying.id), lasting)
	if took := time.Since(began); took > time.Second { // as in willDelayed
		x.Undecided("it took %v to come back, with a delay of 2 s", took.Round(time.Millisecond))
	}
	x.After(4 * time.Second)
	watcher.nothing(x.pub(), "its client came back before the will's delay had passed")
}

func willProperties(x *exam) {
	dying, watcher := mourner(x, false, func(pk *packets.Packet) {
		p := &pk.Connect.WillProperties
		p.ContentType, p.ResponseTopic, p.CorrelationData = "text/plain", x.topic("answer"), []byte{1, 2}
		p.PayloadFormat, p.PayloadFormatFlag = 1, true
		p.User = pairs()
	})
	dying.drop()
	p := watcher.message("will").Properties
	samePairs(x, p.User)
	if p.ContentType != "text/plain" || p.ResponseTopic != x.topic("answer") || string(p.CorrelationData) != "\x01\x02" || p.PayloadFormat != 1 {
		x.Violates("it came with content type %q, response topic %q, correlation data % x, payload format %d", p.ContentType, p.ResponseTopic, p.CorrelationData, p.PayloadFormat)
	}
}
