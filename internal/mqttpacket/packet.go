// Package mqttpacket encodes and reads single MQTT packets for clients that are
// no library's: what is sent is as it was asked for, right or wrong.
package mqttpacket

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/mochi-mqtt/server/v2/packets"
)

// ErrMalformed is what reading wraps where a server sent what is no packet.
var ErrMalformed = errors.New("the broker sent what is no packet of this protocol")

// ErrTooLarge is what reading wraps where a server sent a message above [MaxPacket]. It is no
// violation of a protocol: a client that subscribes to everything is sent what others publish.
var ErrTooLarge = fmt.Errorf("the broker sent a message of more than %d MiB, the most that is read", MaxPacket>>20)

// Protocol levels, as they are in CONNECT.
const (
	v311 = 4
	v5   = 5
)

// MaxPacket is the largest packet that is read: more than anybody here asks for.
const MaxPacket = 8 << 20

// A Packet is one that was received.
type Packet struct {
	packets.Packet
	Raw []byte
}

// Encode encodes a packet of a protocol level as it is told, whatever a broker
// may think of it.
func Encode(level byte, pk packets.Packet) ([]byte, error) {
	pk.ProtocolVersion = level
	pk.Mods.AllowResponseInfo = true // else it leaves response topics out
	switch pk.FixedHeader.Type {
	case packets.Pubrel, packets.Subscribe, packets.Unsubscribe:
		pk.FixedHeader.Qos = 1 // the reserved bits
	}
	if pk.FixedHeader.Type == packets.Disconnect && level == v5 && pk.ReasonCode == 0 && !pk.Properties.SessionExpiryIntervalFlag {
		return []byte{packets.Disconnect << 4, 0}, nil
	}
	buf := &bytes.Buffer{}
	err := map[byte]func(*bytes.Buffer) error{
		packets.Connect: pk.ConnectEncode, packets.Publish: pk.PublishEncode, packets.Puback: pk.PubackEncode,
		packets.Pubrec: pk.PubrecEncode, packets.Pubrel: pk.PubrelEncode, packets.Pubcomp: pk.PubcompEncode,
		packets.Subscribe: pk.SubscribeEncode, packets.Unsubscribe: pk.UnsubscribeEncode,
		packets.Pingreq: pk.PingreqEncode, packets.Disconnect: pk.DisconnectEncode, packets.Auth: pk.AuthEncode,
	}[pk.FixedHeader.Type](buf)
	return buf.Bytes(), err
}

// Read reads one packet of a server. It returns an error that wraps [ErrMalformed]
// for bytes that cannot be decoded, and [ErrTooLarge] for a message above [MaxPacket].
func Read(r *bufio.Reader, level byte) (*Packet, error) {
	head, err := r.ReadByte()
	if err != nil {
		return nil, err
	}
	raw := []byte{head}
	length := 0
	for shift := 0; ; shift += 7 {
		b, err := r.ReadByte()
		if err != nil {
			return nil, err
		}
		raw = append(raw, b)
		length |= int(b&0x7f) << shift
		if b < 0x80 {
			break
		}
		if shift == 21 {
			return nil, fmt.Errorf("%w: a remaining length of more than four bytes: % x", ErrMalformed, raw)
		}
	}
	switch {
	case length > MaxPacket && head>>4 == packets.Publish:
		return nil, fmt.Errorf("%w: %d bytes", ErrTooLarge, length)
	case length > MaxPacket:
		return nil, fmt.Errorf("%w: a packet of %d bytes is larger than any that a test needs", ErrMalformed, length)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, err
	}
	pk := &Packet{Raw: append(raw, body...)}
	if err := pk.decode(level, head, body); err != nil {
		return nil, fmt.Errorf("%w: %w: % x", ErrMalformed, err, pk.Raw[:min(len(pk.Raw), 48)])
	}
	return pk, nil
}

func (p *Packet) decode(level byte, head byte, body []byte) error {
	p.ProtocolVersion = level
	if err := p.FixedHeader.Decode(head); err != nil {
		return err
	}
	p.FixedHeader.Remaining = len(body)
	if p.FixedHeader.Type == packets.Connack && len(body) == 2 {
		p.ProtocolVersion = v311 // a server that does not speak 5 answers as it can
	}
	decode := map[byte]func([]byte) error{
		packets.Connack: p.ConnackDecode, packets.Publish: p.PublishDecode, packets.Puback: p.PubackDecode,
		packets.Pubrec: p.PubrecDecode, packets.Pubrel: p.PubrelDecode, packets.Pubcomp: p.PubcompDecode,
		packets.Suback: p.SubackDecode, packets.Unsuback: p.UnsubackDecode, packets.Pingresp: p.PingrespDecode,
		packets.Disconnect: p.DisconnectDecode, packets.Auth: p.AuthDecode,
	}[p.FixedHeader.Type]
	if decode == nil {
		return fmt.Errorf("a server sends no packet of type %d", p.FixedHeader.Type)
	}
	if err := decode(body); err != nil {
		return err
	}
	if level == v5 && p.FixedHeader.Type == packets.Disconnect && len(body) == 1 { // 3.14.2.2.1: the properties may be left out
		p.ReasonCode = body[0]
	}
	return nil
}
