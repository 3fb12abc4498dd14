package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A Duplicate sends some percent of the packets on some links twice. TCP throws
// the second one away.
type Duplicate struct {
	Percent   float64
	Seed      uint64
	With      string // nodes, clients, all
	Direction string // both, out, in
}

// Name is duplicate.
func (Duplicate) Name() string { return "duplicate" }

// Plan plans one queue for all links of the target.
func (d Duplicate) Plan(_ context.Context, target Target) (*Injection, error) {
	links, err := target.links(d.With, d.Direction)
	if err != nil {
		return nil, err
	}
	t, err := target.treat(netqueue.Treatment{Do: netqueue.Duplicate, Percent: d.Percent, Seed: d.Seed}, links)
	if err != nil {
		return nil, err
	}
	// A probe that arrives twice is sent back twice, so it is seen at both ends.
	seen := share{what: "duplicated", percent: d.Percent, atLeast: true, of: func(p router.Pings) float64 { return float64(p.Duplicated) / 2 }}
	return t.proveShare(target, seen), nil
}

func duplicate() Kind {
	return Kind{
		Type: "duplicate",
		Draw: Draw{All: true, Params: func(d Dice, s Setting, p map[string]any) {
			p["percent"] = whole(d, 10, 40)
			drawLinks(d, s, p)
		}},
		Summary: "some percent of the packets arrive twice; TCP throws the second one away, so a broker hardly notices (for MQTT's own duplicates see the faults of family protocol)",
		Params: []Param{
			{Name: "percent", Default: 10.0, Min: 1, Max: 100, Less: true, Doc: "of the packets on these links, as on a wire"},
			packetSeed(), directionParam(), withParam("all"),
		},
		Targets: networkTargets(),
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 5.0, "percent": 20.0}},
		New: func(p Params) (Fault, error) {
			return Duplicate{Percent: p.number("percent"), Seed: p.seed(), With: p.text("with"), Direction: p.text("direction")}, nil
		},
		Available: byRouter("nfqueue"),
	}
}
