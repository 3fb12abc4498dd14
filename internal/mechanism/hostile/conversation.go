// Package hostile is clients that mean harm. They send packets that no MQTT client
// may send, or hold connections without using them. Their packets depend only on a
// seed, a number and the length of their login, so that they can be sent again.
package hostile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

// A Login is what a client needs to be let in; empty where anybody is.
type Login struct{ User, Password string }

// hidden is a login of the same length, with which a conversation is the same
// but for the secret.
func (l Login) hidden() Login {
	return Login{strings.Repeat("u", len(l.User)), strings.Repeat("p", len(l.Password))}
}

// A Conversation is what one client says, packet by packet.
type Conversation struct {
	Number  int
	Kind    string // one of [Kinds]
	Level   byte   // of the protocol: 4 is MQTT 3.1.1, 5 is MQTT 5
	Packets [][]byte
	Cut     bool // nothing follows the last packet: its rest never comes
}

// Kinds are the kinds of conversations.
func Kinds() []string {
	return []string{"truncated", "mutated", "length", "turn", "big", "edge", "short"}
}

// Converse returns the conversation of that number. It is of the given kind, or of
// any kind if kind is "".
func Converse(seed uint64, number int, kind string, login Login) Conversation {
	s := &speaker{
		Rand: rand.New(rand.NewPCG(seed, uint64(number))), login: login,
		name: fmt.Sprintf("hostile-%x-%d", seed, number), level: 4,
	}
	if s.IntN(2) == 1 {
		s.level = 5
	}
	drawn := Kinds()[s.IntN(len(Kinds())-1)] // each but the last
	if number%8 == 7 {
		drawn = "short" // and no other conversation of a seed changes by it
	}
	if kind == "" {
		kind = drawn
	}
	c := Conversation{Number: number, Kind: kind}
	switch kind {
	case "truncated":
		c.Packets, c.Cut = s.badEnd(s.cut), true
	case "mutated":
		c.Packets = s.badEnd(s.mutate)
	case "length":
		c.Packets = s.badEnd(s.lie)
	case "turn":
		c.Packets = s.outOfTurn()
	case "big":
		c.Packets = s.big()
	case "short":
		c.Packets = s.short()
	default:
		c.Packets = s.edges()
	}
	c.Level = s.level
	return c
}

// A speaker makes one conversation.
type speaker struct {
	*rand.Rand
	login Login
	name  string // its client id, and its topics begin with it
	level byte
}

// badEnd is a conversation that begins well and whose last packet is bad: it
// may be the first one too.
func (s *speaker) badEnd(spoil func([]byte) []byte) [][]byte {
	if s.IntN(3) == 0 {
		return [][]byte{spoil(s.encode(s.connect()))}
	}
	out := [][]byte{s.encode(s.connect())}
	for range s.IntN(3) {
		out = append(out, s.encode(s.allowed()))
	}
	return append(out, spoil(s.encode(s.allowed())))
}

// cut ends a packet before its end.
func (s *speaker) cut(b []byte) []byte { return b[:1+s.IntN(max(len(b)-1, 1))] }

// Bytes at which readers of numbers and of lengths go wrong.
var sharp = []byte{0, 1, 2, 3, 4, 0x7f, 0x80, 0xc0, 0xfe, 0xff}

// mutate changes a packet in one to four places, and leaves its length as it says.
func (s *speaker) mutate(b []byte) []byte {
	b = slices.Clone(b)
	for range 1 + s.IntN(4) {
		at := s.IntN(len(b))
		switch s.IntN(4) {
		case 0:
			b[at] ^= 1 << s.IntN(8)
		case 1:
			b[at] = sharp[s.IntN(len(sharp))]
		case 2: // a part of it over another part
			from := s.IntN(len(b))
			copy(b[at:], slices.Clone(b[from:min(len(b), from+1+s.IntN(8))]))
		default:
			b[at] = byte(s.IntN(256))
		}
	}
	return b
}

// lie makes one of a packet's lengths untrue: its own, or one of a field.
func (s *speaker) lie(b []byte) []byte {
	if s.IntN(2) == 0 || len(b) < 5 {
		lengths := [][]byte{{0}, {1}, {0xff, 0x7f}, {0xff, 0xff, 0x7f}, {0xff, 0xff, 0xff, 0x7f}, {0xff, 0xff, 0xff, 0xff}, {0x80, 0x80, 0x80, 0x80, 1}, {0x80, 0}}
		rest := b[1:]
		for len(rest) > 0 && rest[0]&0x80 != 0 {
			rest = rest[1:]
		}
		return slices.Concat(b[:1], lengths[s.IntN(len(lengths))], rest[min(1, len(rest)):])
	}
	b = slices.Clone(b)
	at := 2 + s.IntN(len(b)-3)
	b[at], b[at+1] = sharp[s.IntN(len(sharp))], sharp[s.IntN(len(sharp))]
	return b
}

// short is a conversation with a PUBLISH that is shorter than its topic, by its own length. The
// topic comes whole all the same: a careless reader computes a negative length of the payload.
func (s *speaker) short() [][]byte {
	publish := packets.Packet{
		FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: byte(s.IntN(3))}, PacketID: s.id(),
		TopicName: s.topic() + strings.Repeat("/level", s.IntN(12)), Payload: []byte("payload"),
	}
	b := s.encode(publish)
	b[1] = byte(s.IntN(2 + len(publish.TopicName))) // a packet of one byte of length: it has less than 128
	return [][]byte{s.encode(s.connect()), b}
}

// outOfTurn are whole packets in an order that no client sends them in: without
// CONNECT, with two, and those that only servers send.
func (s *speaker) outOfTurn() (out [][]byte) {
	if s.IntN(3) > 0 {
		out = append(out, s.encode(s.connect()))
	}
	for range 2 + s.IntN(8) {
		switch s.IntN(6) {
		case 0:
			out = append(out, s.encode(s.connect()))
		case 1:
			servers := [][]byte{{0x20, 2, 0, 0}, {0x90, 3, 0, 1, 0}, {0xb0, 2, 0, 1}, {0xd0, 0}, {0xf0, 0}, {0x00, 0}}
			out = append(out, servers[s.IntN(len(servers))])
		default:
			out = append(out, s.encode(s.allowed()))
		}
	}
	return out
}

// encode encodes a packet, and one without its packet id with the id 0; what
// cannot be encoded at all is PINGREQ instead.
func (s *speaker) encode(pk packets.Packet) []byte {
	b, err := mqttpacket.Encode(s.level, pk)
	if err != nil && pk.PacketID == 0 {
		pk.PacketID = 0x5a5a
		b, err = mqttpacket.Encode(s.level, pk)
		b = bytes.Replace(b, []byte{0x5a, 0x5a}, []byte{0, 0}, 1)
	}
	if err != nil || len(b) < 2 {
		return pingreq()
	}
	return b
}
