package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// PacketTruncate forwards the first half of a chosen packet and then closes the
// connection: what followed would be read as its second half.
type PacketTruncate struct{ packetFault }

// Name is packet_truncate.
func (PacketTruncate) Name() string { return "packet_truncate" }

// Plan plans a rule in the tap.
func (f PacketTruncate) Plan(_ context.Context, target Target) (*Injection, error) {
	return f.plan(target)
}

func packetTruncate() Kind {
	return packetKind("packet_truncate",
		"truncate: the first half of each chosen packet arrives, then its connection is closed",
		map[string]any{"direction": "to_broker", "nth": 50.0},
		packetParams(),
		func(p Params) (Fault, error) {
			f, err := newPacketFault("packet_truncate", tap.Truncate, tap.HalfThenCut, p, nil)
			return PacketTruncate{f}, err
		}).drawn(Draw{Roles: publishersAlone, Params: func(d Dice, _ Setting, p map[string]any) { p["nth"] = whole(d, 20, 60) }})
}
