package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

// Bounds of an echo. A broker that loses one message may return the next.
const (
	echoes    = 3
	echoBound = 2 * time.Second // for each
)

// echo publishes a message with QoS 1 below rmq/, the prefix of all topics of a run, and waits
// until it comes back. Over MQTT 3.1.1 a broker may acknowledge a message and drop it for want of
// rights [MQTT-3.3.5-2]: only the delivery counts. Bytes is the length of the payload.
func (n *Node) echo(ctx context.Context, bytes int) error {
	ctx, cancel := context.WithTimeout(ctx, probeBound+echoes*echoBound)
	defer cancel()
	id := probeID()
	conn, err := meet(ctx, level3, n.spoken, n.mqtt, id, n.user, n.pass)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", n.name, err)
	}
	defer conn.Close()
	topic, r := "rmq/"+id+"/echo", bufio.NewReader(conn)
	subscribe := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe}, PacketID: 1, Filters: packets.Subscriptions{{Filter: topic, Qos: 1}}}
	if err := send(conn, subscribe); err != nil {
		return fmt.Errorf("subscribe at %s: %w", n.name, err)
	}
	ack, err := mqttpacket.Read(r, level3)
	switch {
	case err != nil:
		return fmt.Errorf("wait for SUBACK of %s: %w", n.name, err)
	case ack.FixedHeader.Type != packets.Suback || len(ack.ReasonCodes) != 1 || ack.ReasonCodes[0] > 2:
		return fmt.Errorf("%s refuses a subscription to %s; let this login subscribe to rmq/#", n.name, topic)
	}
	for i := range echoes {
		message := packets.Packet{
			FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: 1}, PacketID: uint16(2 + i), TopicName: topic, Payload: make([]byte, bytes),
		}
		if err := send(conn, message); err != nil {
			return fmt.Errorf("publish at %s: %w", n.name, err)
		}
		switch back, err := returned(ctx, conn, r, topic); {
		case back:
			conn.Write(disconnectPacket)
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("wait for a message of our own at %s: %w", n.name, ctx.Err())
		case err != nil:
			return fmt.Errorf("publish a message of %d bytes to %s at %s: the connection ended: %w; let this login publish to rmq/#, with messages of that size", bytes, topic, n.name, err)
		}
	}
	return fmt.Errorf("%s takes messages of %d bytes to %s and delivers none; let this login publish to rmq/# and subscribe there, with messages of that size", n.name, bytes, topic)
}

// returned reports whether a message of a topic comes in time. The error is that of the
// connection.
func returned(ctx context.Context, conn net.Conn, r *bufio.Reader, topic string) (bool, error) {
	conn.SetReadDeadline(time.Now().Add(echoBound))
	if ctx.Err() != nil { // its end set a deadline before, which this one has replaced
		return false, ctx.Err()
	}
	for {
		pk, err := mqttpacket.Read(r, level3)
		var late net.Error
		switch {
		case errors.As(err, &late) && late.Timeout():
			return false, nil
		case err != nil:
			return false, err
		case pk.FixedHeader.Type == packets.Publish && pk.TopicName == topic:
			return true, nil
		}
	}
}

func send(conn net.Conn, pk packets.Packet) error {
	b, err := mqttpacket.Encode(level3, pk)
	if err != nil {
		return err
	}
	_, err = conn.Write(b)
	return err
}
