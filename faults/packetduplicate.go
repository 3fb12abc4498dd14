package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// PacketDuplicate sends chosen PUBLISH twice, the second time with DUP: those of
// QoS 1, and those of QoS 2 to the broker, which must know it again. The sender
// sees one answer.
type PacketDuplicate struct{ packetFault }

// Name is packet_duplicate.
func (PacketDuplicate) Name() string { return "packet_duplicate" }

// Plan plans a rule in the tap.
func (f PacketDuplicate) Plan(_ context.Context, target Target) (*Injection, error) {
	return f.plan(target)
}

func packetDuplicate() Kind {
	return packetKind("packet_duplicate",
		"duplicate: chosen PUBLISH of QoS 1, to the broker also of QoS 2, arrive twice, the second time with DUP; their sender sees one answer",
		map[string]any{"direction": "to_broker", "nth": 3.0},
		packetParams(),
		func(p Params) (Fault, error) {
			f, err := newPacketFault("packet_duplicate", tap.Duplicate, tap.Twice, p, nil)
			return PacketDuplicate{f}, err
		}).drawn(Draw{
		Suits: noRegisterOfQoS1,
		Roles: func(s Setting) []string {
			if s.Registers || !s.has(1) { // a copy of QoS 2 is the broker's to know
				return []string{history.TargetPublishers}
			}
			return []string{history.TargetPublishers, history.TargetSubscribers}
		},
		Params: func(d Dice, s Setting, p map[string]any) {
			p["packet"], p["direction"] = drawExchange(d, s, true)
			p["nth"] = whole(d, 3, 12)
		},
	})
}
