package cluster

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
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
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	began := time.Now()
	conn, err := meet(ctx, level, transport, address, probeID(), user, password)
	took := time.Since(began)
	if err != nil {
		return took, err
	}
	conn.Write(disconnectPacket)
	conn.Close()
	return took, nil
}

var disconnectPacket = []byte{0xe0, 0}

// meet returns an accepted connection with a clean session. Reads and writes on it
// are bounded by ctx.
func meet(ctx context.Context, level byte, transport, address, id, user, password string) (net.Conn, error) {
	conn, err := dial(ctx, transport, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })
	if _, err := conn.Write(connectPacket(level, id, user, password)); err != nil {
		conn.Close()
		return nil, fmt.Errorf("send CONNECT: %w", err)
	}
	ack, err := mqttpacket.Read(bufio.NewReader(conn), level)
	switch {
	case err != nil:
		err = fmt.Errorf("wait for CONNACK: %w", err)
	case ack.FixedHeader.Type != packets.Connack:
		err = fmt.Errorf("% x is no CONNACK", ack.Raw)
	case ack.ReasonCode != 0:
		err = fmt.Errorf("CONNECT refused: %s", refusal(ack.ReasonCode))
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
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
