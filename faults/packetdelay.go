package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// PacketDelay makes chosen packets late, each by the same time, and with them
// what is behind: the order of a connection stays. Healing releases them at
// once.
type PacketDelay struct{ packetFault }

// Name is packet_delay.
func (PacketDelay) Name() string { return "packet_delay" }

// Plan plans a rule in the tap.
func (f PacketDelay) Plan(_ context.Context, target Target) (*Injection, error) {
	return f.plan(target)
}

func packetDelay() Kind {
	return packetKind("packet_delay",
		"delay: chosen packets, and what is behind them on their connection, arrive delay_ms later; healing releases them at once",
		map[string]any{"packet": "puback", "delay_ms": 200.0},
		packetParams(Param{
			Name: "delay_ms", Default: 200.0, Min: 1, Max: 60_000, Less: true, Doc: "how much later each of them arrives",
		}),
		func(p Params) (Fault, error) {
			f, err := newPacketFault("packet_delay", tap.Delay, tap.Arrives, p, func(r *tap.Rule) { r.DelayMS = p.number("delay_ms") })
			return PacketDelay{f}, err
		}).drawn(Draw{Params: func(d Dice, s Setting, p map[string]any) {
		p["packet"], p["direction"] = drawExchange(d, s, false)
	}})
}
