package conformance

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A packet is one that was received.
type packet = mqttpacket.Packet

// encode encodes a packet as it is told, whatever a broker may think of it.
func encode(v Version, pk packets.Packet) ([]byte, error) { return mqttpacket.Encode(byte(v), pk) }

// The following functions build packets that no library would.

// frame is a packet of a first byte and a body.
func frame(head byte, body ...[]byte) []byte {
	all := bytes.Join(body, nil)
	return slicesOf([]byte{head}, varint(len(all)), all)
}

func slicesOf(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func varint(n int) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		if n >>= 7; n > 0 {
			out = append(out, b|0x80)
			continue
		}
		return append(out, b)
	}
}

func u16(n int) []byte    { return binary.BigEndian.AppendUint16(nil, uint16(n)) }
func str(s string) []byte { return append(u16(len(s)), s...) }

// props are properties with their length before them; nothing in 3.1.1.
func props(v Version, parts ...[]byte) []byte {
	if v != V5 {
		return nil
	}
	all := bytes.Join(parts, nil)
	return append(varint(len(all)), all...)
}

// describe is a packet in one line.
func describe(p *packets.Packet, raw []byte) string {
	name := strings.ToUpper(packets.PacketNames[p.FixedHeader.Type])
	var about []string
	add := func(format string, args ...any) { about = append(about, fmt.Sprintf(format, args...)) }
	switch p.FixedHeader.Type {
	case packets.Connect:
		add("id=%q clean=%t keepalive=%d", clipText(p.Connect.ClientIdentifier), p.Connect.Clean, p.Connect.Keepalive)
		if p.Connect.WillFlag {
			add("will=%q qos=%d retain=%t %q", clipText(p.Connect.WillTopic), p.Connect.WillQos, p.Connect.WillRetain, clip(p.Connect.WillPayload, 40))
		}
	case packets.Connack:
		add("session=%t code=%#02x", p.SessionPresent, p.ReasonCode)
	case packets.Publish:
		add("%q qos=%d", clipText(p.TopicName), p.FixedHeader.Qos)
		if p.FixedHeader.Qos > 0 {
			add("id=%d", p.PacketID)
		}
		if p.FixedHeader.Dup {
			add("dup")
		}
		if p.FixedHeader.Retain {
			add("retain")
		}
		add("%d bytes %q", len(p.Payload), clip(p.Payload, 40))
	case packets.Subscribe, packets.Unsubscribe:
		add("id=%d", p.PacketID)
		for _, f := range p.Filters {
			add("%q qos=%d", clipText(f.Filter), f.Qos)
		}
	case packets.Suback, packets.Unsuback:
		add("id=%d codes=[% x]", p.PacketID, p.ReasonCodes)
	case packets.Puback, packets.Pubrec, packets.Pubrel, packets.Pubcomp:
		add("id=%d", p.PacketID)
		if p.ReasonCode != 0 {
			add("code=%#02x", p.ReasonCode)
		}
	case packets.Disconnect, packets.Auth:
		add("code=%#02x", p.ReasonCode)
	}
	if p.Properties.ReasonString != "" {
		add("reason=%q", clipText(p.Properties.ReasonString))
	}
	return fmt.Sprintf("%s %s  [% x%s]", name, strings.Join(about, " "), clip(raw, 24), more(raw, 24))
}

func clip(b []byte, most int) []byte { return b[:min(len(b), most)] }

func more(b []byte, most int) string {
	if len(b) > most {
		return fmt.Sprintf(" … %d bytes", len(b))
	}
	return ""
}

func clipText(s string) string { return plain.Cut(s, 60) }
