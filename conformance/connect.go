package conformance

import (
	"github.com/mochi-mqtt/server/v2/packets"
)

// connecting is what becomes of a good CONNECT.
func connecting() []entry {
	return []entry{
		{"connect/connack-first", "MQTT-3.2.0-1", "MQTT-3.2.0-1", must, "the first packet of the server is CONNACK, also where messages wait for the client", connackFirst},
		{"connect/one-connack", "", "MQTT-3.2.0-2", must, "one connection gets one CONNACK", oneConnack},
		{"connect/accepted", "MQTT-3.1.4-4", "MQTT-3.1.4-5", must, "a valid CONNECT is acknowledged with code 0", accepted},
		{"connect/client-ids", "MQTT-3.1.3-5", "MQTT-3.1.3-5", must, "client ids of 1 to 23 letters and digits are taken", clientIDs},
		{"connect/empty-client-id", "MQTT-3.1.3-6", "MQTT-3.1.3-6", must, "clients without an id get ids that differ", emptyIDs},
		{"connect/assigned-client-id", "", "MQTT-3.2.2-16", must, "the CONNACK to an empty client id has the id that was assigned, a new one", assignedID},
		{"connect/assigned-client-id-is-used", "", "MQTT-3.1.3-7", must, "the session is that of the assigned id", assignedIDUsed},
		{"connect/no-session-when-clean", "MQTT-3.2.2-1", "MQTT-3.2.2-2", must, "a clean start is answered without Session Present", cleanNotPresent},
		{"connect/connack-flags", "MQTT-2.2.2-1", "MQTT-3.2.2-1", must, "the reserved bits of the CONNACK's flags are 0", connackFlags},
		{"connect/maximum-qos", "", "§3.2.2.3.4", must, "Maximum QoS of CONNACK is 0 or 1, or not there", maximumQoS},
		{"connect/connack-values", "", "§3.2.2.3", must, "the other properties of CONNACK have values that they may have", connackValues},
		{"connect/no-authentication-method", "", "MQTT-4.12.0-6", must, "who names no authentication method gets none, and no AUTH", noAuthMethod},
		{"connect/no-response-information", "", "MQTT-3.1.2-28", must, "without a request for it, CONNACK has no Response Information", noResponseInfo},
		{"connect/will-is-accepted", "MQTT-3.1.2-8", "MQTT-3.1.2-7", must, "a CONNECT with a will is accepted", willAccepted},
		{"connect/clients-are-apart", "MQTT-3.1.3-2", "MQTT-3.1.3-2", must, "clients of ids that differ in one letter's case are two clients", idsDiffer},
		{"connect/early-packets", "§3.1.4", "§3.1.4", must, "what is sent right after CONNECT, before CONNACK, is processed", earlyPackets},
	}
}

func connackFirst(x *exam) {
	sub := x.sub(lasting)
	sub.subscribe(x.topic("t"), 1)
	id := sub.id
	sub.disconnect()
	pub := x.pub()
	for range 5 {
		pub.publish(x.topic("t"), "waits", 1)
	}
	sub = x.sub(named(id), lasting) // which looks at the first packet
	sub.message("waits")
}

func oneConnack(x *exam) {
	c := x.sub()
	c.subscribe(x.topic("t"), 0)
	c.ping()
	for _, pk := range c.held {
		if pk.FixedHeader.Type == packets.Connack {
			x.Violates("a second CONNACK came")
		}
	}
}

func accepted(x *exam) {
	x.sub().ping()
}

func clientIDs(x *exam) {
	const all = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	token := x.token[len(x.token)-3:] // keeps the ids the check's own
	for i := 0; i < len(all); i += 20 {
		c := x.dial("id", x.to)
		c.send(x.connection(token + all[i:min(i+20, len(all))]))
		connack := c.await("CONNACK", ofType(packets.Connack))
		if connack.ReasonCode != 0 {
			x.Violates("the client id %q is refused with %#02x", token+all[i:min(i+20, len(all))], connack.ReasonCode)
		}
		c.disconnect()
	}
	x.sub(named(token)).disconnect()
}

// nameless connects without a client id.
func nameless(x *exam, name string) (*client, *packet) {
	return x.connect(name, x.to, named(""))
}

func emptyIDs(x *exam) {
	a, _ := nameless(x, "a")
	b, _ := nameless(x, "b")
	a.ping()
	b.ping()
	a.ping() // the second one has not taken over the first one's session
}

func assignedID(x *exam) {
	_, first := nameless(x, "a")
	_, second := nameless(x, "b")
	for _, connack := range []*packet{first, second} {
		if connack.Properties.AssignedClientID == "" {
			x.Violates("the CONNACK has no Assigned Client Identifier")
		}
	}
	if first.Properties.AssignedClientID == second.Properties.AssignedClientID {
		x.Violates("two clients are assigned %q", first.Properties.AssignedClientID)
	}
}

func assignedIDUsed(x *exam) {
	c, connack := x.connect("a", x.to, named(""), expiry(60))
	id := connack.Properties.AssignedClientID
	if id == "" {
		x.Violates("the CONNACK has no Assigned Client Identifier")
	}
	x.sessions = append(x.sessions, id)
	c.disconnect()
	if _, connack := x.connect("b", x.to, named(id), lasting); !connack.SessionPresent {
		x.Violates("the session of the assigned id %q is not there for who comes back with it", id)
	}
}

func cleanNotPresent(x *exam) {
	c := x.sub(lasting)
	c.disconnect()
	if _, connack := x.connect("again", x.to, named(c.id)); connack.SessionPresent {
		x.Violates("the CONNACK to a clean start has Session Present")
	}
}

func connackFlags(x *exam) {
	_, connack := x.connect("a", x.to)
	if flags := connack.Raw[2]; flags > 1 {
		x.Violates("the flags of the CONNACK are %08b", flags)
	}
}

func maximumQoS(x *exam) {
	if p := x.offers; p.MaximumQosFlag && p.MaximumQos > 1 {
		x.Violates("the CONNACK has a Maximum QoS of %d", p.MaximumQos)
	}
}

func connackValues(x *exam) {
	_, connack := x.connect("a", x.to)
	p := connack.Properties
	for name, flag := range map[string]byte{
		"Retain Available": p.RetainAvailable, "Wildcard Subscription Available": p.WildcardSubAvailable,
		"Subscription Identifiers Available": p.SubIDAvailable, "Shared Subscription Available": p.SharedSubAvailable,
	} {
		if flag > 1 {
			x.Violates("the CONNACK has a %s of %d", name, flag)
		}
	}
}

func noAuthMethod(x *exam) {
	if _, connack := x.connect("a", x.to); connack.Properties.AuthenticationMethod != "" {
		x.Violates("the CONNACK names the authentication method %q", connack.Properties.AuthenticationMethod)
	}
}

func noResponseInfo(x *exam) {
	if _, connack := x.connect("a", x.to); connack.Properties.ResponseInfo != "" {
		x.Violates("the CONNACK has Response Information %q", connack.Properties.ResponseInfo)
	}
}

func willAccepted(x *exam) {
	for qos := range byte(3) {
		x.needsQoS(qos)
		x.sub(will(x.topic("w"), []byte(x.token), qos, false)).disconnect()
	}
}

func idsDiffer(x *exam) {
	a := x.sub(named(x.token + "a"))
	b := x.sub(named(x.token + "A"))
	b.ping()
	a.ping()
}

func earlyPackets(x *exam) {
	x.needsQoS(1)
	c := x.dial("sub", x.to)
	connect, _ := encode(x.version, x.connection(x.token+"early"))
	subscribe, _ := encode(x.version, packets.Packet{
		FixedHeader: packets.FixedHeader{Type: packets.Subscribe}, PacketID: 1, Filters: packets.Subscriptions{{Filter: x.topic("t")}},
	})
	publish, _ := encode(x.version, publisher(x.topic("t"), 1, 2, x.payload("early")))
	c.raw("CONNECT, SUBSCRIBE, PUBLISH at once", slicesOf(connect, subscribe, publish))
	if code := c.await("CONNACK", ofType(packets.Connack)).ReasonCode; code != 0 {
		x.Unsupported("the broker refused the connection with %#02x", code)
	}
	c.await("SUBACK", ofType(packets.Suback))
	c.await("PUBACK", ofType(packets.Puback)) // that the message comes to its own sender nobody promises
}
