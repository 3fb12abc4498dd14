package cluster

import (
	"bufio"
	"context"
	"fmt"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

// A Login is how somebody comes to a broker: a user and a password, both "" for nobody,
// by tcp, tls, ws or wss.
type Login struct{ User, Password, Transport string }

// Forget ends the session of a client at an address, by connecting in its name with a
// clean one. It is bounded by three seconds.
func (l Login) Forget(ctx context.Context, protocol, address, clientID string) error {
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	conn, err := meet(ctx, levelOf(protocol), l.Transport, address, clientID, l.User, l.Password)
	if err != nil {
		return fmt.Errorf("end the session of %s at %s: %w", clientID, address, err)
	}
	defer conn.Close()
	if _, err := conn.Write(disconnectPacket); err != nil {
		return fmt.Errorf("end the session of %s at %s: %w", clientID, address, err)
	}
	return nil
}

// Unretain removes the retained message of a topic, by an empty one in its place (MQTT
// 3.1.1 section 3.3.1.3 [MQTT-3.3.1-10]). It is bounded by three seconds.
func (l Login) Unretain(ctx context.Context, protocol, address, topic string) error {
	ctx, cancel := context.WithTimeout(ctx, probeBound)
	defer cancel()
	level := levelOf(protocol)
	conn, err := meet(ctx, level, l.Transport, address, probeID(), l.User, l.Password)
	if err != nil {
		return fmt.Errorf("remove the retained message of %s at %s: %w", topic, address, err)
	}
	defer conn.Close()
	empty, err := mqttpacket.Encode(level, packets.Packet{
		FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: 1, Retain: true}, TopicName: topic, PacketID: 1,
	})
	if err == nil {
		_, err = conn.Write(empty)
	}
	var ack *mqttpacket.Packet
	if err == nil {
		ack, err = mqttpacket.Read(bufio.NewReader(conn), level)
	}
	if err == nil && (ack.FixedHeader.Type != packets.Puback || ack.ReasonCode >= 0x80) {
		err = fmt.Errorf("% x is no PUBACK of success", ack.Raw)
	}
	if err != nil {
		return fmt.Errorf("remove the retained message of %s at %s: %w", topic, address, err)
	}
	conn.Write(disconnectPacket)
	return nil
}
