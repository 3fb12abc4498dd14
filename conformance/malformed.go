package conformance

import (
	"errors"
	"slices"

	"github.com/mochi-mqtt/server/v2/packets"
)

// malformed returns the checks of packets that must end a connection that had
// begun well. MQTT 5 forbids clients to send some packets but does not call
// them an error. Their refusal is only suggested by section 4.13.1: SHOULD.
func malformed() []entry {
	all := []entry{
		{"malformed/type-0", "MQTT-4.8.0-1", "MQTT-4.13.1-1", must, "a packet of type 0 ends the connection", bad(func(x *exam) []byte { return []byte{0, 0} })},
		{"malformed/type-15", "MQTT-4.8.0-1", "", must, "a packet of type 15 ends the connection", bad(func(x *exam) []byte { return []byte{0xf0, 0} })},
		{"malformed/server-packet", "MQTT-4.8.0-1", "", must, "a packet that only servers send ends the connection", bad(serverPacket)},
		{"malformed/server-packet", "", "MQTT-4.13.1-1", should, "a packet that only servers send ends the connection", bad(serverPacket)},
		{"malformed/subscribe-flags", "MQTT-3.8.1-1", "MQTT-3.8.1-1", must, "SUBSCRIBE with other reserved bits ends the connection", bad(func(x *exam) []byte {
			return frame(0x80, u16(1), props(x.version), str(x.topic("t")), []byte{0})
		})},
		{"malformed/unsubscribe-flags", "MQTT-3.10.1-1", "MQTT-3.10.1-1", must, "UNSUBSCRIBE with other reserved bits ends the connection", bad(func(x *exam) []byte {
			return frame(0xa0, u16(1), props(x.version), str(x.topic("t")))
		})},
		{"malformed/pubrel-flags", "MQTT-3.6.1-1", "MQTT-3.6.1-1", must, "PUBREL with other reserved bits ends the connection", bad(func(x *exam) []byte { return frame(0x60, u16(1)) })},
		{"malformed/pingreq-flags", "MQTT-2.2.2-2", "§2.1.3", must, "PINGREQ with other reserved bits ends the connection", bad(func(x *exam) []byte { return []byte{0xc5, 0} })},
		{"malformed/disconnect-flags", "MQTT-3.14.1-1", "MQTT-3.14.1-1", must, "DISCONNECT with other reserved bits is no good end: the will is published", disconnectFlags},
		{"malformed/qos-3", "MQTT-3.3.1-4", "MQTT-3.3.1-4", must, "PUBLISH with both QoS bits ends the connection", bad(func(x *exam) []byte {
			return frame(0x36, str(x.topic("t")), u16(1), props(x.version), x.payload("m"))
		})},
		{"malformed/publish-id-0", "MQTT-2.3.1-1", "", must, "PUBLISH of QoS 1 with packet id 0 is not accepted", notAcknowledged(packets.Puback, publishID0)},
		{"malformed/publish-id-0", "", "MQTT-2.2.1-3", should, "PUBLISH of QoS 1 with packet id 0 is not accepted", notAcknowledged(packets.Puback, publishID0)},
		{"malformed/subscribe-id-0", "MQTT-2.3.1-1", "", must, "SUBSCRIBE with packet id 0 is not accepted", notAcknowledged(packets.Suback, subscribeID0)},
		{"malformed/subscribe-id-0", "", "MQTT-2.2.1-3", should, "SUBSCRIBE with packet id 0 is not accepted", notAcknowledged(packets.Suback, subscribeID0)},
		{"malformed/unsubscribe-id-0", "MQTT-2.3.1-1", "", must, "UNSUBSCRIBE with packet id 0 is not accepted", notAcknowledged(packets.Unsuback, unsubscribeID0)},
		{"malformed/unsubscribe-id-0", "", "MQTT-2.2.1-3", should, "UNSUBSCRIBE with packet id 0 is not accepted", notAcknowledged(packets.Unsuback, unsubscribeID0)},
		{"malformed/publish-wildcard", "MQTT-3.3.2-2", "", must, "PUBLISH to a topic with a wildcard is not accepted", wildcardTopics},
		{"malformed/publish-wildcard", "", "MQTT-3.3.2-2", should, "PUBLISH to a topic with a wildcard is not accepted", wildcardTopics},
		{"malformed/publish-empty-topic", "MQTT-4.7.3-1", "§3.3.2.1", must, "PUBLISH to an empty topic ends the connection", bad(func(x *exam) []byte {
			return frame(0x32, str(""), u16(1), props(x.version), x.payload("m"))
		})},
		{"malformed/topic-null", "MQTT-1.5.3-2", "MQTT-1.5.4-2", must, "U+0000 in a topic ends the connection", badTopic("a\x00b")},
		{"malformed/topic-overlong", "MQTT-1.5.3-1", "MQTT-1.5.4-1", must, "an overlong encoding in a topic ends the connection", badTopic("a\xc0\xafb")},
		{"malformed/topic-surrogate", "MQTT-1.5.3-1", "MQTT-1.5.4-1", must, "half of a surrogate pair in a topic ends the connection", badTopic("a\xed\xa0\x80b")},
		{"malformed/topic-truncated", "MQTT-1.5.3-1", "MQTT-1.5.4-1", must, "a truncated character in a topic ends the connection", badTopic("a\xe2\x82")},
		{"malformed/topic-beyond-unicode", "MQTT-1.5.3-1", "MQTT-1.5.4-1", must, "a code point above U+10FFFF in a topic ends the connection", badTopic("a\xf4\x90\x80\x80")},
		{"malformed/filter-utf8", "MQTT-3.8.3-1", "MQTT-3.8.3-1", must, "a filter that is no UTF-8 is not accepted", notAcknowledged(packets.Suback, func(x *exam) []byte {
			return frame(0x82, u16(1), props(x.version), str(x.topic("\xc0\xaf")), []byte{0})
		})},
		{"malformed/unsubscribe-utf8", "MQTT-3.10.3-1", "MQTT-3.10.3-1", must, "UNSUBSCRIBE from a filter that is no UTF-8 is not accepted", notAcknowledged(packets.Unsuback, func(x *exam) []byte {
			return frame(0xa2, u16(1), props(x.version), str(x.topic("\xc0\xaf")))
		})},
		{"malformed/remaining-length", "§2.2.3", "§1.5.5", must, "a remaining length of five bytes ends the connection", bad(func(x *exam) []byte {
			return []byte{0x30, 0xff, 0xff, 0xff, 0xff, 0x01}
		})},
		{"malformed/length-beyond-packet", "MQTT-4.8.0-1", "MQTT-4.13.1-1", must, "a topic that is longer than its packet ends the connection", bad(func(x *exam) []byte {
			return frame(0x30, u16(200), []byte("short"))
		})},
		{"malformed/short-puback", "MQTT-4.8.0-1", "MQTT-4.13.1-1", must, "PUBACK of one byte ends the connection", bad(func(x *exam) []byte { return frame(0x40, []byte{0}) })},
		{"malformed/subscribe-nothing", "MQTT-3.8.3-3", "MQTT-3.8.3-2", must, "SUBSCRIBE without a filter ends the connection", bad(func(x *exam) []byte { return frame(0x82, u16(1), props(x.version)) })},
		{"malformed/unsubscribe-nothing", "MQTT-3.10.3-2", "MQTT-3.10.3-2", must, "UNSUBSCRIBE without a filter ends the connection", bad(func(x *exam) []byte { return frame(0xa2, u16(1), props(x.version)) })},
		{"malformed/subscribe-qos-3", "MQTT-3-8.3-4", "§3.8.3.1", must, "SUBSCRIBE with QoS 3 ends the connection", bad(options(3))},
		{"malformed/subscribe-options", "MQTT-3-8.3-4", "MQTT-3.8.3-5", must, "SUBSCRIBE with reserved bits in its options ends the connection", bad(options(0x40))},
		{"malformed/retain-handling-3", "", "§3.8.3.1", must, "SUBSCRIBE with Retain Handling 3 ends the connection", bad(options(0x30))},
		{"malformed/subscribe-no-options", "MQTT-4.8.0-1", "MQTT-4.13.1-1", must, "SUBSCRIBE whose last filter has no options ends the connection", bad(func(x *exam) []byte {
			return frame(0x82, u16(1), props(x.version), str(x.topic("t")))
		})},
		{"malformed/auth-flags", "", "MQTT-3.15.1-1", must, "AUTH with reserved bits ends the connection", bad(func(x *exam) []byte { return frame(0xf1) })},
		{"malformed/auth-unasked", "", "MQTT-4.12.0-7", should, "AUTH on a connection without an authentication method ends it", bad(func(x *exam) []byte {
			return frame(0xf0, []byte{0x19}, props(V5, slicesOf([]byte{packets.PropAuthenticationMethod}, str("x"))))
		})},
	}
	return append(append(append(all, badConnectProperties()...), badPublishProperties()...), badSubscribeProperties()...)
}

// bad sends a packet that must end the connection.
func bad(build func(*exam) []byte) func(*exam) {
	return func(x *exam) {
		c := x.sub()
		c.raw("malformed", build(x))
		c.ends("it sent what is no valid packet")
	}
}

// notAcknowledged sends what the standard forbids to send: the server may close
// the connection or, in MQTT 5, say no; what it may not is to say yes.
func notAcknowledged(kind byte, build func(*exam) []byte) func(*exam) {
	return func(x *exam) {
		c := x.pub()
		c.raw("invalid", build(x))
		c.refuses(kind)
	}
}

// refuses is that the last packet is not acknowledged with success: it is
// refused, or the connection ends. PINGRESP may come before either.
func (c *client) refuses(kind byte) {
	c.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Pingreq}})
	ack, err := c.find(func(pk *packet) bool { return pk.FixedHeader.Type == kind || c.goodbye(pk) }, c.x.soon())
	switch {
	case errors.Is(err, errLate) && !slices.ContainsFunc(c.held, ofType(packets.Pingresp)):
		c.x.Undecided("the broker neither answers nor closes the connection, in %v", c.x.wait)
	case errors.Is(err, errLate):
		c.stays("it sent what is not allowed, and was not told no")
		return
	case err != nil:
		return
	case c.goodbye(ack):
		c.closes("it sent what is not allowed")
		return
	}
	code := ack.ReasonCode
	if len(ack.ReasonCodes) > 0 {
		code = ack.ReasonCodes[0]
	}
	if code < 0x80 {
		c.x.Violates("it is acknowledged with %s, code %#02x", packets.PacketNames[kind], code)
	}
}

func serverPacket(x *exam) []byte { return frame(0x90, u16(1), props(x.version), []byte{0}) }

func publishID0(x *exam) []byte {
	return frame(0x32, str(x.topic("t")), u16(0), props(x.version), x.payload("m"))
}

func subscribeID0(x *exam) []byte {
	return frame(0x82, u16(0), props(x.version), str(x.topic("t")), []byte{0})
}

func unsubscribeID0(x *exam) []byte {
	return frame(0xa2, u16(0), props(x.version), str(x.topic("t")))
}

func options(b byte) func(*exam) []byte {
	return func(x *exam) []byte {
		return frame(0x82, u16(1), props(x.version), str(x.topic("t")), []byte{b})
	}
}

func badTopic(topic string) func(*exam) {
	return notAcknowledged(packets.Puback, func(x *exam) []byte {
		return frame(0x32, str(x.topic(topic)), u16(1), props(x.version), x.payload("m"))
	})
}

func wildcardTopics(x *exam) {
	for _, topic := range []string{"a/+", "#", "a#", "+/b"} {
		c := x.pub()
		c.send(publisher(x.topic(topic), 1, 1, x.payload("m")))
		c.refuses(packets.Puback)
	}
}

func disconnectFlags(x *exam) {
	dying, watcher := mourner(x, false)
	dying.raw("DISCONNECT with reserved bits", []byte{0xe1, 0})
	dying.closedIn(x.wait)
	watcher.message("will")
}

// badConnectProperties are CONNECT packets of MQTT 5 that the standard calls
// malformed or a protocol error.
func badConnectProperties() []entry {
	var all []entry
	for _, e := range []struct {
		name, number, text string
		parts              [][]byte
	}{
		{"receive-maximum-0", "§3.1.2.11.3", "a Receive Maximum of 0", [][]byte{{packets.PropReceiveMaximum, 0, 0}}},
		{"receive-maximum-twice", "§3.1.2.11.3", "two Receive Maximums", [][]byte{{packets.PropReceiveMaximum, 0, 9}, {packets.PropReceiveMaximum, 0, 9}}},
		{"maximum-packet-size-0", "§3.1.2.11.4", "a Maximum Packet Size of 0", [][]byte{{packets.PropMaximumPacketSize, 0, 0, 0, 0}}},
		{"session-expiry-twice", "§3.1.2.11.2", "two Session Expiry Intervals", [][]byte{{packets.PropSessionExpiryInterval, 0, 0, 0, 0}, {packets.PropSessionExpiryInterval, 0, 0, 0, 0}}},
		{"alias-maximum-twice", "§3.1.2.11.5", "two Topic Alias Maximums", [][]byte{{packets.PropTopicAliasMaximum, 0, 9}, {packets.PropTopicAliasMaximum, 0, 9}}},
		{"response-information-2", "§3.1.2.11.6", "a Request Response Information of 2", [][]byte{{packets.PropRequestResponseInfo, 2}}},
		{"problem-information-2", "§3.1.2.11.7", "a Request Problem Information of 2", [][]byte{{packets.PropRequestProblemInfo, 2}}},
		{"authentication-data-alone", "§3.1.2.11.10", "Authentication Data without a method", [][]byte{{packets.PropAuthenticationData, 0, 1, 7}}},
		{"unknown-property", "§2.2.2.2", "a property that does not exist", [][]byte{{0x7f, 0}}},
		{"foreign-property", "§2.2.2.2", "a property of PUBLISH", [][]byte{{packets.PropTopicAlias, 0, 1}}},
	} {
		all = append(all, entry{"malformed/connect-" + e.name, "", e.number, must, "CONNECT with " + e.text + " ends the connection", badConnect(func(x *exam) []byte {
			return x.rawConnectProps(e.parts...)
		})})
	}
	return all
}

func badPublishProperties() []entry {
	var all []entry
	for _, e := range []struct {
		name, number, level, text, topic string
		parts                            [][]byte
	}{
		{"alias-0", "MQTT-3.3.2-8", should, "a Topic Alias of 0", "t", [][]byte{{packets.PropTopicAlias, 0, 0}}},
		{"alias-unknown", "§3.3.2.1", must, "an alias that was not set, and no topic", "", [][]byte{{packets.PropTopicAlias, 0, 1}}},
		{"identifier", "MQTT-3.3.4-6", should, "a Subscription Identifier", "t", [][]byte{{packets.PropSubscriptionIdentifier, 1}}},
		{"format-twice", "§3.3.2.3.2", must, "two Payload Format Indicators", "t", [][]byte{{packets.PropPayloadFormat, 1}, {packets.PropPayloadFormat, 1}}},
		{"expiry-twice", "§3.3.2.3.3", must, "two Message Expiry Intervals", "t", [][]byte{{packets.PropMessageExpiryInterval, 0, 0, 0, 9}, {packets.PropMessageExpiryInterval, 0, 0, 0, 9}}},
		{"response-wildcard", "MQTT-3.3.2-14", should, "a wildcard in its Response Topic", "t", [][]byte{append([]byte{packets.PropResponseTopic}, str("a/#")...)}},
		{"response-utf8", "MQTT-3.3.2-13", must, "a Response Topic that is no UTF-8", "t", [][]byte{append([]byte{packets.PropResponseTopic}, str("a\xc0\xaf")...)}},
		{"content-utf8", "MQTT-3.3.2-19", must, "a Content Type that is no UTF-8", "t", [][]byte{append([]byte{packets.PropContentType}, str("a\xc0\xaf")...)}},
		{"user-utf8", "MQTT-1.5.7-1", must, "a User Property that is no UTF-8", "t", [][]byte{slicesOf([]byte{packets.PropUser}, str("a"), str("b\xc0\xaf"))}},
		{"unknown-property", "§2.2.2.2", must, "a property that does not exist", "t", [][]byte{{0x7f, 0}}},
		{"foreign-property", "§2.2.2.2", must, "a property of CONNECT", "t", [][]byte{{packets.PropReceiveMaximum, 0, 9}}},
	} {
		all = append(all, entry{"malformed/publish-" + e.name, "", e.number, e.level, "PUBLISH with " + e.text + " is not accepted", notAcknowledged(packets.Puback, func(x *exam) []byte {
			topic := e.topic
			if topic != "" {
				topic = x.topic(topic)
			}
			return frame(0x32, str(topic), u16(1), props(V5, e.parts...), x.payload("m"))
		})})
	}
	return append(all, entry{"malformed/publish-alias-too-large", "", "MQTT-3.3.2-9", should, "PUBLISH with a Topic Alias above the server's maximum is not accepted", aliasTooLarge})
}

func aliasTooLarge(x *exam) {
	if x.offers.TopicAliasMaximum == 65535 {
		x.Unsupported("the broker takes every topic alias there is")
	}
	c := x.pub()
	c.send(publisherWithAlias(x.topic("t"), 1, 1, x.payload("m"), x.offers.TopicAliasMaximum+1))
	c.refuses(packets.Puback)
}

func badSubscribeProperties() []entry {
	var all []entry
	for _, e := range []struct {
		name, text string
		parts      [][]byte
	}{
		{"identifier-0", "a Subscription Identifier of 0", [][]byte{{packets.PropSubscriptionIdentifier, 0}}},
		{"identifier-twice", "two Subscription Identifiers", [][]byte{{packets.PropSubscriptionIdentifier, 1}, {packets.PropSubscriptionIdentifier, 2}}},
	} {
		all = append(all, entry{"malformed/subscribe-" + e.name, "", "§3.8.2.1.2", must, "SUBSCRIBE with " + e.text + " is not accepted", notAcknowledged(packets.Suback, func(x *exam) []byte {
			x.needsIdentifiers()
			return frame(0x82, u16(1), props(V5, e.parts...), str(x.topic("t")), []byte{0})
		})})
	}
	return all
}
