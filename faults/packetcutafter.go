package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// PacketCutAfter closes a connection right after a chosen packet went over it.
type PacketCutAfter struct{ packetFault }

// Name is packet_cut_after.
func (PacketCutAfter) Name() string { return "packet_cut_after" }

// Plan plans a rule in the tap.
func (f PacketCutAfter) Plan(_ context.Context, target Target) (*Injection, error) {
	return f.plan(target)
}

func packetCutAfter() Kind {
	return packetKind("packet_cut_after",
		"cut_after: each chosen packet arrives, then its connection is closed",
		map[string]any{"packet": "puback", "nth": 50.0},
		packetParams(),
		func(p Params) (Fault, error) {
			f, err := newPacketFault("packet_cut_after", tap.CutAfter, tap.ThenCut, p, nil)
			return PacketCutAfter{f}, err
		}).drawn(Draw{Params: func(d Dice, s Setting, p map[string]any) {
		drawPacket(3, 12)(d, s, p)
		p["nth"] = whole(d, 20, 60)
	}})
}
