package conformance

import (
	"bytes"

	"github.com/mochi-mqtt/server/v2/packets"
)

// disconnecting is the DISCONNECT of a server, in MQTT 5. A server need not send one.
func disconnecting() []entry {
	return []entry{
		{"disconnect/last", "", "MQTT-3.14.4-1", must, "nothing follows the DISCONNECT of a server", disconnectLast},
		{"disconnect/closes", "", "MQTT-3.14.4-2", must, "the server closes the connection after its DISCONNECT", disconnectCloses},
		{"disconnect/known-codes", "", "MQTT-3.14.2-1", must, "the code of a DISCONNECT is one of the standard for servers", disconnectCodes},
		{"disconnect/no-session-expiry", "", "MQTT-3.14.2-2", must, "the DISCONNECT of a server has no Session Expiry Interval", disconnectExpiry},
	}
}

// dismissed are the clients with a DISCONNECT from the broker, of three: the first was taken over, the
// second sent CONNECT twice, and the third sent a malformed packet.
func dismissed(x *exam) (all []*client) {
	old := x.sub(lasting)
	x.connect("second", x.to, named(old.id), lasting)
	twice, wrong := x.sub(), x.sub()
	twice.send(x.connection(twice.id))
	wrong.raw("malformed", options(3)(x))
	for _, c := range []*client{old, twice, wrong} {
		if _, err := c.find(c.goodbye, x.soon()); err == nil {
			all = append(all, c)
		}
	}
	if len(all) == 0 {
		x.Unsupported("the broker closes the connection without a DISCONNECT, also after a take-over")
	}
	return all
}

func disconnectLast(x *exam) {
	for _, c := range dismissed(x) {
		if pk, err := c.find(func(*packet) bool { return true }, x.soon()); err == nil {
			x.Violates("%s: %s follows the DISCONNECT of the broker", c.name, packets.PacketNames[pk.FixedHeader.Type])
		}
	}
}

func disconnectCloses(x *exam) {
	for _, c := range dismissed(x) {
		c.closes("it had said DISCONNECT")
	}
}

func disconnectCodes(x *exam) {
	servers := []byte{
		0x00, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0x9b,
		0x9c, 0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2,
	}
	for _, c := range dismissed(x) {
		if code := c.said.ReasonCode; bytes.IndexByte(servers, code) < 0 {
			x.Violates("%s: a DISCONNECT with the code %#02x", c.name, code)
		}
	}
}

func disconnectExpiry(x *exam) {
	for _, c := range dismissed(x) {
		if p := c.said.Properties; p.SessionExpiryIntervalFlag {
			x.Violates("%s: a DISCONNECT with a Session Expiry Interval of %d s", c.name, p.SessionExpiryInterval)
		}
	}
}
