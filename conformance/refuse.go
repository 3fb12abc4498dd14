package conformance

import (
	"errors"

	"github.com/mochi-mqtt/server/v2/packets"
)

// refusing is what becomes of a bad CONNECT.
func refusing() []entry {
	return []entry{
		{"refuse/second-connect", "MQTT-3.1.0-2", "MQTT-3.1.0-2", must, "a second CONNECT ends the connection", secondConnect},
		{"refuse/connect-not-first", "MQTT-4.8.0-1", "MQTT-4.13.1-1", must, "another packet before CONNECT ends the connection", notFirst},
		{"refuse/protocol-name", "MQTT-3.1.2-1", "MQTT-3.1.2-1", must, "a wrong protocol name is not served as MQTT", protocolName},
		{"refuse/protocol-level", "MQTT-3.1.2-2", "MQTT-3.1.2-2", must, "a protocol level that is not supported ends the connection", badConnect(func(x *exam) []byte {
			return x.rawConnect("MQTT", 77, 2, str(x.token))
		})},
		{"refuse/reserved-connect-flag", "MQTT-3.1.2-3", "MQTT-3.1.2-3", must, "the reserved flag of CONNECT set ends the connection", badConnect(reservedFlag)},
		{"refuse/without-connack", "MQTT-3.1.4-1", "", must, "a CONNECT that is not well formed gets no CONNACK", withoutConnack},
		{"refuse/malformed-connect", "", "MQTT-3.1.4-1", must, "a CONNECT of another form ends the connection", badConnect(func(x *exam) []byte {
			return x.rawConnect("MQTT", byte(x.version), 2, []byte{0, 200, 'x'})
		})},
		{"refuse/no-disconnect-first", "", "MQTT-3.14.0-1", must, "the server sends no DISCONNECT before a CONNACK", noDisconnectFirst},
		{"refuse/will-qos-3", "MQTT-3.1.2-14", "MQTT-3.1.2-12", must, "a will of QoS 3 is not accepted", badConnect(func(x *exam) []byte {
			return x.rawConnect("MQTT", byte(x.version), 0b00011110, str(x.token), props(x.version), str(x.topic("w")), str("will"))
		})},
		{"refuse/will-qos-without-will", "MQTT-3.1.2-13", "MQTT-3.1.2-11", must, "a will's QoS without a will is not accepted", badConnect(func(x *exam) []byte {
			return x.rawConnect("MQTT", byte(x.version), 0b00001010, str(x.token))
		})},
		{"refuse/will-retain-without-will", "MQTT-3.1.2-15", "MQTT-3.1.2-13", must, "a will's retain flag without a will is not accepted", badConnect(func(x *exam) []byte {
			return x.rawConnect("MQTT", byte(x.version), 0b00100010, str(x.token))
		})},
		{"refuse/will-flag-without-will", "MQTT-3.1.2-9", "MQTT-3.1.2-9", must, "a will's flag without its topic and payload is not accepted", badConnectAlone(func(x *exam) []byte {
			return x.rawConnectAlone(0b00000110, str(x.token))
		})},
		{"refuse/password-without-user", "MQTT-3.1.2-22", "", must, "a password without a user name is not accepted", badConnectAlone(func(x *exam) []byte {
			return x.rawConnectAlone(0b01000010, str(x.token), str("secret"))
		})},
		{"refuse/user-flag-without-user", "MQTT-3.1.2-19", "MQTT-3.1.2-17", must, "a user name's flag without a user name is not accepted", badConnectAlone(func(x *exam) []byte {
			return x.rawConnectAlone(0b10000010, str(x.token))
		})},
		{"refuse/password-flag-without-password", "MQTT-3.1.2-21", "MQTT-3.1.2-19", must, "a password's flag without a password is not accepted", badConnectAlone(func(x *exam) []byte {
			return x.rawConnectAlone(0b11000010, str(x.token), str("user"))
		})},
		{"refuse/user-without-flag", "MQTT-3.1.2-18", "", must, "a user name without its flag is not accepted", userWithoutFlag},
		{"refuse/user-without-flag", "", "MQTT-3.1.2-16", should, "a user name without its flag is not accepted", userWithoutFlag},
		{"refuse/password-without-flag", "MQTT-3.1.2-20", "", must, "a password without its flag is not accepted", passwordWithoutFlag},
		{"refuse/password-without-flag", "", "MQTT-3.1.2-18", should, "a password without its flag is not accepted", passwordWithoutFlag},
		{"refuse/user-utf8", "MQTT-3.1.3-11", "MQTT-3.1.3-12", must, "a user name that is no UTF-8 is not accepted", badConnectAlone(func(x *exam) []byte {
			return x.rawConnectAlone(0b10000010, str(x.token), str("user\xc0\xaf"))
		})},
		{"refuse/no-client-id", "MQTT-3.1.3-3", "MQTT-3.1.3-3", must, "a CONNECT without the field of the client id is not accepted", badConnectAlone(func(x *exam) []byte {
			return x.rawConnectAlone(2)
		})},
		{"refuse/client-id-utf8", "MQTT-3.1.3-4", "MQTT-3.1.3-4", must, "a client id that is no UTF-8 is not accepted", badConnect(func(x *exam) []byte {
			return x.rawConnect("MQTT", byte(x.version), 2, str(x.token+"\xc0\xaf"))
		})},
		{"refuse/will-topic-utf8", "MQTT-3.1.3-10", "MQTT-3.1.3-11", must, "a will topic that is no UTF-8 is not accepted", badConnect(func(x *exam) []byte {
			return x.rawConnect("MQTT", byte(x.version), 6, str(x.token), props(x.version), str(x.topic("w\xff")), str("will"))
		})},
		{"refuse/connect-header-flags", "MQTT-2.2.2-2", "§2.1.3", must, "a CONNECT with other bits in its first byte ends the connection", badConnect(func(x *exam) []byte {
			b := x.rawConnect("MQTT", byte(x.version), 2, str(x.token))
			b[0] |= 0x01
			return b
		})},
		{"refuse/empty-id-unclean", "MQTT-3.1.3-8", "", must, "an empty client id without a clean session is refused with code 2", emptyUnclean},
		{"refuse/connack-then-close", "MQTT-3.2.2-5", "MQTT-3.2.2-7", must, "after a CONNACK that refuses, the server closes the connection", refusedCloses},
		{"refuse/no-session-present", "MQTT-3.2.2-4", "MQTT-3.2.2-6", must, "a CONNACK that refuses has no Session Present", refusedNotPresent},
		{"refuse/nothing-after", "MQTT-3.1.4-5", "MQTT-3.1.4-6", must, "what follows a refused CONNECT is not processed", refusedNothing},
		{"refuse/unknown-authentication", "", "MQTT-4.12.0-1", must, "an authentication method that is not supported ends the connection", badConnect(unknownMethod)},
	}
}

// rawConnect is a CONNECT with the credentials that the broker asks for.
func (x *exam) rawConnect(name string, level, flags byte, payload ...[]byte) []byte {
	if x.user != "" {
		flags |= 0b11000000
		payload = append(payload, str(x.user), str(x.password))
	}
	return x.rawConnectWith(name, level, flags, props(x.version), payload...)
}

// rawConnectAlone is a CONNECT of just these fields.
func (x *exam) rawConnectAlone(flags byte, payload ...[]byte) []byte {
	return x.rawConnectWith("MQTT", byte(x.version), flags, props(x.version), payload...)
}

func (x *exam) rawConnectWith(name string, level, flags byte, properties []byte, payload ...[]byte) []byte {
	return frame(0x10, str(name), []byte{level, flags, 0, 60}, properties, slicesOf(payload...))
}

func reservedFlag(x *exam) []byte {
	return x.rawConnect("MQTT", byte(x.version), 3, str(x.token))
}

func unknownMethod(x *exam) []byte {
	return x.rawConnectProps(slicesOf([]byte{packets.PropAuthenticationMethod}, str("rmq-mcp-no-such-method")))
}

// rawConnectProps is a good CONNECT but for its properties.
func (x *exam) rawConnectProps(parts ...[]byte) []byte {
	flags, payload := byte(2), [][]byte{str(x.token)}
	if x.user != "" {
		flags, payload = flags|0b11000000, append(payload, str(x.user), str(x.password))
	}
	return x.rawConnectWith("MQTT", byte(x.version), flags, props(x.version, parts...), payload...)
}

// badConnect checks that a CONNECT is not accepted and ends the connection. In
// either version the server may say why before, but for what is malformed in
// 3.1.1, which refuse/without-connack is about.
func badConnect(build func(*exam) []byte) func(*exam) {
	return func(x *exam) { refused(x, build(x)) }
}

// badConnectAlone is badConnect of one without the credentials of the run. Where
// nobody is served without them, that it is refused says nothing.
func badConnectAlone(build func(*exam) []byte) func(*exam) {
	return func(x *exam) {
		refused(x, build(x))
		if x.user != "" && !tryBad(x, x.rawConnectAlone(2, str(x.token))).taken {
			x.Unsupported("the broker refuses everybody without credentials, and so this CONNECT")
		}
	}
}

var (
	userWithoutFlag     = badConnectAlone(func(x *exam) []byte { return x.rawConnectAlone(2, str(x.token), str("user")) })
	passwordWithoutFlag = badConnectAlone(func(x *exam) []byte {
		return x.rawConnectAlone(0b10000010, str(x.token), str("user"), str("secret"))
	})
)

// An outcome is what became of a bad CONNECT.
type outcome struct {
	first  *packet // that came, nil where nothing did
	taken  bool    // it is a CONNACK that accepts
	closed bool    // the connection, by the broker
}

// tryBad sends a bad CONNECT and waits for what becomes of it.
func tryBad(x *exam, connect []byte) outcome {
	c := x.dial("bad", x.to)
	c.raw("CONNECT", connect)
	first, err := c.read(x.soon())
	switch {
	case errors.Is(err, errLate):
		x.connect("witness", x.to) // or the broker is stalled, and nothing is decided
		return outcome{}
	case err != nil:
		return outcome{closed: true}
	case first.FixedHeader.Type == packets.Connack && first.ReasonCode == 0:
		return outcome{first: first, taken: true}
	}
	_, closed := c.closedIn(x.wait)
	return outcome{first, false, closed}
}

// refused sends a CONNECT that must end the connection. It returns the packet
// that came before the end, nil if none came.
func refused(x *exam, connect []byte) *packet {
	switch o := tryBad(x, connect); {
	case o.taken:
		x.Violates("the bad CONNECT is accepted")
	case !o.closed && o.first == nil:
		x.Violates("nothing came in %v, and the connection is still open; another client was served meanwhile", x.wait)
	case !o.closed:
		x.Violates("the broker answered %s with code %#02x, and the connection is still open after %v", packets.PacketNames[o.first.FixedHeader.Type], o.first.ReasonCode, x.wait)
	default:
		return o.first
	}
	return nil
}

// protocolName is all but accepted: what else becomes of it is the server's.
func protocolName(x *exam) {
	if tryBad(x, x.rawConnect("MQTX", byte(x.version), 2, str(x.token))).taken {
		x.Violates("a CONNECT with the protocol name MQTX is accepted")
	}
}

func secondConnect(x *exam) {
	c := x.sub()
	c.send(x.connection(c.id))
	c.ends("it sent a second CONNECT")
}

func notFirst(x *exam) {
	c := x.dial("bad", x.to)
	c.send(publisher(x.topic("t"), 0, 0, x.payload("first")))
	c.ends("its first packet was no CONNECT")
}

func withoutConnack(x *exam) {
	if pk := refused(x, reservedFlag(x)); pk != nil {
		x.Violates("a CONNECT with its reserved flag set is answered with %s, code %#02x", packets.PacketNames[pk.FixedHeader.Type], pk.ReasonCode)
	}
}

func noDisconnectFirst(x *exam) {
	for _, connect := range [][]byte{
		reservedFlag(x), unknownMethod(x),
		x.rawConnect("MQTT", byte(x.version), 2, str(x.token+"\xc0\xaf")),
		x.rawConnectProps([]byte{packets.PropReceiveMaximum, 0, 0}),
	} {
		if pk := tryBad(x, connect).first; pk != nil && pk.FixedHeader.Type == packets.Disconnect {
			x.Violates("a refused CONNECT is answered with DISCONNECT, code %#02x", pk.ReasonCode)
		}
	}
}

func emptyUnclean(x *exam) {
	pk := refused(x, x.rawConnect("MQTT", byte(x.version), 0, str("")))
	if pk == nil {
		x.Violates("the connection is closed without a CONNACK")
	}
	if pk.ReasonCode != 2 {
		x.Violates("the code of the CONNACK is %d, not 2", pk.ReasonCode)
	}
}

// refusals are CONNECT packets that a server must refuse, by its version, those
// first that it refuses with a CONNACK.
func refusals(x *exam) [][]byte {
	if x.version == V311 {
		return [][]byte{x.rawConnect("MQTT", byte(x.version), 0, str("")), reservedFlag(x)}
	}
	return [][]byte{unknownMethod(x), x.rawConnectProps([]byte{packets.PropReceiveMaximum, 0, 0}), reservedFlag(x)}
}

// connackThatRefuses is what became of a CONNECT that was answered so.
func connackThatRefuses(x *exam) outcome {
	for _, connect := range refusals(x) {
		if o := tryBad(x, connect); o.first != nil && !o.taken && o.first.FixedHeader.Type == packets.Connack {
			return o
		}
	}
	x.Unsupported("the broker refuses nothing by a CONNACK")
	return outcome{}
}

func refusedCloses(x *exam) {
	if o := connackThatRefuses(x); !o.closed {
		x.Violates("the broker answered CONNACK with code %#02x, and the connection is still open after %v", o.first.ReasonCode, x.wait)
	}
}

func refusedNotPresent(x *exam) {
	if connackThatRefuses(x).first.SessionPresent {
		x.Violates("the CONNACK that refuses has Session Present")
	}
}

func refusedNothing(x *exam) {
	sub, pub := x.sub(), x.pub()
	sub.subscribe(x.topic("t"), 1)
	publish, _ := encode(x.version, publisher(x.topic("t"), 0, 0, x.payload("after")))
	for _, connect := range refusals(x) {
		if o := tryBad(x, slicesOf(connect, publish)); !o.taken && (o.first != nil || o.closed) {
			sub.nothing(pub, "it was sent after a CONNECT that was refused")
			return
		}
	}
	x.Unsupported("the broker refuses nothing that was tried")
}
