package conformance

import (
	"fmt"
	"slices"

	"github.com/mochi-mqtt/server/v2/packets"
)

// properties is what is passed on of a message beside its payload, and what a
// server may not say: of MQTT 5.
func properties() []entry {
	return []entry{
		{"property/user", "", "MQTT-3.3.2-17", must, "user properties are passed on", userProperties},
		{"property/user-order", "", "MQTT-3.3.2-18", must, "user properties keep their order, also of the same name", userOrder},
		{"property/payload-format", "", "MQTT-3.3.2-4", must, "the payload format is passed on", passed(
			func(p *packets.Properties) { p.PayloadFormat, p.PayloadFormatFlag = 1, true },
			func(p packets.Properties) bool { return p.PayloadFormatFlag && p.PayloadFormat == 1 })},
		{"property/content-type", "", "MQTT-3.3.2-20", must, "the content type is passed on", passed(
			func(p *packets.Properties) { p.ContentType = "text/ä" },
			func(p packets.Properties) bool { return p.ContentType == "text/ä" })},
		{"property/response-topic", "", "MQTT-3.3.2-15", must, "the response topic is passed on", passed(
			func(p *packets.Properties) { p.ResponseTopic = "an/answer" },
			func(p packets.Properties) bool { return p.ResponseTopic == "an/answer" })},
		{"property/correlation-data", "", "MQTT-3.3.2-16", must, "the correlation data are passed on", passed(
			func(p *packets.Properties) { p.CorrelationData = []byte{0, 255, 0, 7} },
			func(p packets.Properties) bool { return string(p.CorrelationData) == "\x00\xff\x00\x07" })},
		{"property/request-problem-information", "", "MQTT-3.1.2-29", must, "who asks for no problem information gets no reason strings in acknowledgements", noProblemInfo},
		{"property/subscription-identifier", "", "MQTT-3.3.4-3", must, "a message comes with the identifier of its subscription", identifier},
		{"property/subscription-identifiers", "", "MQTT-3.3.4-4", must, "a message that comes once has the identifiers of all subscriptions that it matches", identifiers},
		{"property/identifier-replaced", "", "MQTT-3.8.4-3", must, "a subscription that takes another's place has its own identifier", identifierReplaced},
		{"property/identifier-in-session", "", "MQTT-3.1.2-5", must, "an identifier is part of the session", identifierLasts},
		{"property/connack-codes", "", "MQTT-3.2.2-8", must, "the code of a CONNACK is one of the standard", connackCodes},
	}
}

// pairs are user properties whose order shows.
func pairs() []packets.UserProperty {
	return []packets.UserProperty{{Key: "b", Val: "1"}, {Key: "a", Val: "2"}, {Key: "b", Val: "3"}, {Key: "b", Val: "1"}, {Key: "", Val: ""}, {Key: "ä", Val: "ö"}}
}

func samePairs(x *exam, got []packets.UserProperty) {
	if !slices.Equal(got, pairs()) {
		x.Violates("the user properties %v came as %v", pairs(), got)
	}
}

// sendPairs publishes user properties and answers what came of them.
func sendPairs(x *exam) []packets.UserProperty {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	pub.publish(x.topic("t"), "m", 1, with(func(p *packets.Properties) { p.User = pairs() }))
	return sub.message("m").Properties.User
}

func userProperties(x *exam) {
	got := sendPairs(x)
	for _, p := range pairs() {
		if i := slices.Index(got, p); i >= 0 {
			got = slices.Delete(got, i, i+1)
		} else {
			x.Violates("the user property %q=%q did not come", p.Key, p.Val)
		}
	}
}

func userOrder(x *exam) { samePairs(x, sendPairs(x)) }

// passed publishes a message with a property and looks whether it comes with it.
func passed(set func(*packets.Properties), same func(packets.Properties) bool) func(*exam) {
	return func(x *exam) {
		sub, pub := x.sub(), x.pub()
		sub.subscribe(x.topic("t"), 1)
		pub.publish(x.topic("t"), "m", 1, with(set))
		if m := sub.message("m"); !same(m.Properties) {
			x.Violates("the message came without it: % x", clip(m.Raw, 80))
		}
	}
}

func noProblemInfo(x *exam) {
	c := x.pub(with(func(p *packets.Properties) { p.RequestProblemInfo, p.RequestProblemInfoFlag = 0, true }))
	check := func(pk *packet) {
		if p := pk.Properties; p.ReasonString != "" || len(p.User) > 0 {
			x.Violates("%s has the reason string %q and %d user properties", packets.PacketNames[pk.FixedHeader.Type], p.ReasonString, len(p.User))
		}
	}
	c.publishing(x.topic("nobody"), "m", 1)
	check(c.await("PUBACK", ofType(packets.Puback)))
	check(c.trySubscribe([]packets.Subscription{{Filter: x.topic("t")}}))
	check(c.unsubscribe(x.topic("never")))
	if !x.offersQoS(2) {
		return // to which PUBREL may be an error
	}
	c.ack(packets.Pubrel, 999)
	check(c.await("PUBCOMP", ofType(packets.Pubcomp)))
}

func identified(n int) func(*packets.Packet) {
	return with(func(p *packets.Properties) { p.SubscriptionIdentifier = []int{n} })
}

func identifier(x *exam) {
	x.needsIdentifiers()
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1, identified(42))
	sub.subscribe(x.topic("u"), 1)
	pub.publish(x.topic("t"), "with", 1)
	pub.publish(x.topic("u"), "without", 1)
	if got := sub.message("with").Properties.SubscriptionIdentifier; !slices.Equal(got, []int{42}) {
		x.Violates("the subscription has the identifier 42, the message came with %v", got)
	}
	if got := sub.message("without").Properties.SubscriptionIdentifier; len(got) > 0 {
		x.Violates("the subscription has no identifier, the message came with %v", got)
	}
}

func identifiers(x *exam) {
	x.needsIdentifiers()
	x.needsWildcards()
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1, identified(1))
	sub.subscribe(x.topic("+"), 1, identified(2))
	sub.subscribe(x.topic("#"), 1, identified(300))
	pub.publish(x.topic("t"), "m", 1)
	var got []int
	for len(got) < 3 { // in one copy or in several
		m := sub.await(fmt.Sprintf("copy with more identifiers than %v", got), x.labelled("m"))
		got = append(got, m.Properties.SubscriptionIdentifier...)
	}
	for _, m := range sub.rest(pub) {
		got = append(got, m.Properties.SubscriptionIdentifier...)
	}
	slices.Sort(got)
	if !slices.Equal(got, []int{1, 2, 300}) {
		x.Violates("subscriptions with the identifiers 1, 2 and 300 match, the message came with %v", got)
	}
}

func identifierReplaced(x *exam) {
	x.needsIdentifiers()
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1, identified(1))
	sub.subscribe(x.topic("t"), 1, identified(2))
	pub.publish(x.topic("t"), "m", 1)
	if got := sub.message("m").Properties.SubscriptionIdentifier; !slices.Equal(got, []int{2}) {
		x.Violates("the subscription was replaced by one with the identifier 2, the message came with %v", got)
	}
}

func identifierLasts(x *exam) {
	x.needsIdentifiers()
	sub := x.sub(lasting)
	sub.subscribe(x.topic("t"), 1, identified(7))
	sub.disconnect()
	x.pub().publish(x.topic("t"), "m", 1)
	again, _ := x.connect("again", x.to, named(sub.id), lasting)
	if got := again.message("m").Properties.SubscriptionIdentifier; !slices.Equal(got, []int{7}) {
		x.Violates("the subscription has the identifier 7, after a reconnect the message came with %v", got)
	}
}

func connackCodes(x *exam) {
	known := []byte{0, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x90, 0x95, 0x97, 0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9f}
	for _, connect := range [][]byte{unknownMethod(x), reservedFlag(x), x.rawConnectProps([]byte{packets.PropReceiveMaximum, 0, 0})} {
		if pk := tryBad(x, connect).first; pk != nil && pk.FixedHeader.Type == packets.Connack && !slices.Contains(known, pk.ReasonCode) {
			x.Violates("a CONNACK has the code %#02x", pk.ReasonCode)
		}
	}
}
