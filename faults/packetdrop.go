package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// PacketDrop keeps chosen packets from their receiver. TCP knows no such loss
// and MQTT repeats only on a new connection, so when it is healed, the
// connections that something was dropped from are closed.
type PacketDrop struct{ packetFault }

// Name is packet_drop.
func (PacketDrop) Name() string { return "packet_drop" }

// Plan plans a rule in the tap.
func (f PacketDrop) Plan(_ context.Context, target Target) (*Injection, error) { return f.plan(target) }

func packetDrop() Kind {
	return packetKind("packet_drop",
		"drop: chosen packets never arrive; when it is healed, connections that lack one are closed, since MQTT repeats nothing before that",
		map[string]any{"packet": "puback", "nth": 5.0},
		packetParams(),
		func(p Params) (Fault, error) {
			f, err := newPacketFault("packet_drop", tap.Drop, tap.NeverArrives, p, nil)
			return PacketDrop{f}, err
		}).drawn(Draw{Suits: noRegisterOfQoS1, Params: drawPacket(3, 12)})
}
