package tap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
)

// A Type is an MQTT control packet type (MQTT 5.0, 2.1.2). Any is all of them.
type Type uint8

// The types, by their numbers on the wire.
const (
	Any Type = iota
	Connect
	Connack
	Publish
	Puback
	Pubrec
	Pubrel
	Pubcomp
	Subscribe
	Suback
	Unsubscribe
	Unsuback
	Pingreq
	Pingresp
	Disconnect
	Auth
)

// Types are the names of all types, by number; the first is any.
func Types() []string {
	return []string{
		"any", history.PacketConnect, history.PacketConnack, history.PacketPublish,
		history.PacketPuback, history.PacketPubrec, history.PacketPubrel, history.PacketPubcomp,
		history.PacketSubscribe, history.PacketSuback, history.PacketUnsubscribe, history.PacketUnsuback,
		history.PacketPingreq, history.PacketPingresp, history.PacketDisconnect, history.PacketAuth,
	}
}

// String is the type's name in lower case.
func (t Type) String() string { return Types()[t&15] }

// MarshalText writes the name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads the name.
func (t *Type) UnmarshalText(b []byte) error {
	i := slices.Index(Types(), string(b))
	if i < 0 {
		return fmt.Errorf("no packet %q; valid: %s", b, strings.Join(Types(), ", "))
	}
	*t = Type(i)
	return nil
}

// hasID reports whether packets of the type carry a packet id; PUBLISH does
// where its QoS is above 0.
func (t Type) hasID() bool { return t >= Puback && t <= Unsuback }

// A packet is what the tap reads of one control packet: its frame, and the few
// fields that rules choose by.
type packet struct {
	kind  Type
	flags byte
	head  int    // bytes of the fixed header
	size  int    // bytes of all of it
	id    uint16 // packet id; 0 for none
	topic []byte // of a PUBLISH; part of the buffer that was scanned
}

func (p packet) qos() byte { return p.flags >> 1 & 3 }

// String names it as people do: puback 17.
func (p packet) String() string {
	if p.id == 0 {
		return p.kind.String()
	}
	return fmt.Sprintf("%s %d", p.kind, p.id)
}

// errNotMQTT is of bytes that cannot begin a control packet.
var errNotMQTT = errors.New("not an MQTT control packet")

// scan reads the packet that b begins with. Need is how many bytes of b that
// takes; where b is shorter, the packet is not filled in. A packet whose
// content contradicts its length has neither id nor topic: it is framed all
// the same, and its receiver's to refuse.
func scan(b []byte) (p packet, need int, err error) {
	if len(b) < 2 {
		return p, 2, nil
	}
	p.kind, p.flags = Type(b[0]>>4), b[0]&15
	if p.kind == Any {
		return p, 0, errNotMQTT
	}
	rest, n, err := length(b[1:])
	if err != nil || n == 0 {
		return p, len(b) + 1, err
	}
	p.head, p.size = 1+n, 1+n+rest
	switch {
	case p.kind == Publish:
		return scanPublish(b, p)
	case p.kind == Connect:
		return p, p.size, nil
	case p.kind.hasID() && rest >= 2:
		if need = p.head + 2; len(b) >= need {
			p.id = binary.BigEndian.Uint16(b[p.head:])
		}
		return p, need, nil
	}
	return p, p.head, nil
}

func scanPublish(b []byte, p packet) (packet, int, error) {
	need := p.head + 2
	if p.size < need {
		return p, p.head, nil
	}
	if len(b) < need {
		return p, need, nil
	}
	topic := int(binary.BigEndian.Uint16(b[p.head:]))
	need += topic
	if p.qos() > 0 {
		need += 2
	}
	if p.size < need {
		return p, p.head, nil
	}
	if len(b) < need {
		return p, need, nil
	}
	p.topic = b[p.head+2 : p.head+2+topic]
	if p.qos() > 0 {
		p.id = binary.BigEndian.Uint16(b[need-2:])
	}
	return p, need, nil
}

// length reads a remaining length of one to four bytes; n is 0 while it is not
// whole.
func length(b []byte) (v, n int, err error) {
	for i := range 4 {
		if i == len(b) {
			return 0, 0, nil
		}
		v |= int(b[i]&127) << (7 * i)
		if b[i] < 128 {
			return v, i + 1, nil
		}
	}
	return 0, 0, errNotMQTT
}

// clientOf reads the client id of a whole CONNECT, 3.1 to 5.0. It is false for
// what is no CONNECT: TLS and WebSocket begin otherwise.
func clientOf(b []byte) (id string, ok bool) {
	p, need, err := scan(b)
	if err != nil || p.kind != Connect || p.flags != 0 || need > len(b) {
		return "", false
	}
	b = b[p.head:p.size]
	name, b, ok := text(b)
	if !ok || name != "MQTT" && name != "MQIsdp" || len(b) < 4 {
		return "", false
	}
	level := b[0]
	b = b[4:] // level, flags, keep alive
	if level >= 5 {
		skip, n, err := length(b)
		if err != nil || n == 0 || n+skip > len(b) {
			return "", false
		}
		b = b[n+skip:]
	}
	id, _, ok = text(b)
	return id, ok
}

// levelOf is the protocol level of a whole CONNECT; 0 where it has none.
func levelOf(p packet, b []byte) byte {
	if _, rest, ok := text(b[p.head:]); ok && len(rest) > 0 {
		return rest[0]
	}
	return 0
}

// text cuts a string with its length before it.
func text(b []byte) (s string, rest []byte, ok bool) {
	if len(b) < 2 {
		return "", nil, false
	}
	n := int(binary.BigEndian.Uint16(b))
	if len(b) < 2+n {
		return "", nil, false
	}
	return string(b[2 : 2+n]), b[2+n:], true
}
