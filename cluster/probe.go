package cluster

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"time"
)

// probeBound is for a whole probe: TCP connection, CONNECT, CONNACK.
const probeBound = 3 * time.Second

// Protocol levels of MQTT 3.1.1 and 5.0.
const (
	level3 byte = 4
	level5 byte = 5
)

// probe is the smallest thing that an MQTT client does: CONNECT as a new
// client with a clean session, be accepted, DISCONNECT. It returns how long it
// took to be accepted.
func probe(ctx context.Context, level byte, transport, address, user, password string) (time.Duration, error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	conn, err := dial(ctx, transport, address)
	if err != nil {
		return time.Since(began), err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	defer stop()
	if _, err := conn.Write(connectPacket(level, probeID(), user, password)); err != nil {
		return time.Since(began), fmt.Errorf("send CONNECT: %w", err)
	}
	// The lengths of its remaining bytes and of its properties differ; the reason is
	// before those.
	var connack [4]byte
	if _, err := io.ReadFull(conn, connack[:]); err != nil {
		return time.Since(began), fmt.Errorf("wait for CONNACK: %w", err)
	}
	reason := connack[3]
	if level == level5 && connack[1] >= 0x80 { // a length of two bytes
		var last [1]byte
		if _, err := io.ReadFull(conn, last[:]); err != nil {
			return time.Since(began), fmt.Errorf("wait for the rest of CONNACK: %w", err)
		}
		reason = last[0]
	}
	took := time.Since(began)
	if connack[0] != 0x20 || level == level3 && connack[1] != 2 {
		return took, fmt.Errorf("% x is no CONNACK", connack)
	}
	if reason != 0 {
		return took, fmt.Errorf("CONNECT refused: %s", refusal(reason))
	}
	conn.Write([]byte{0xe0, 0})
	return took, nil
}

// probeID is short, since brokers may refuse more than 23 characters, and
// never the same, since a second client of a name ends the first.
func probeID() string {
	var b [6]byte
	rand.Read(b[:])
	return "probe" + hex.EncodeToString(b[:])
}

// connectPacket is a CONNECT with a clean session and a keep-alive of ten seconds.
func connectPacket(level byte, id, user, password string) []byte {
	flags := byte(0x02)
	payload := mqttString(nil, id)
	if user != "" {
		flags |= 0x80
		payload = mqttString(payload, user)
	}
	if password != "" {
		flags |= 0x40
		payload = mqttString(payload, password)
	}
	body := mqttString(nil, "MQTT")
	body = append(body, level, flags, 0, 10)
	if level == level5 {
		body = append(body, 0) // no properties
	}
	body = append(body, payload...)
	packet := binary.AppendUvarint([]byte{0x10}, uint64(len(body)))
	return append(packet, body...)
}

func mqttString(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(len(s)))
	return append(b, s...)
}

func refusal(code byte) string {
	switch code {
	case 1:
		return "protocol version not accepted"
	case 2:
		return "client identifier rejected"
	case 3:
		return "server unavailable"
	case 4:
		return "bad user name or password"
	case 5:
		return "not authorized"
	}
	return fmt.Sprintf("code %d", code)
}
