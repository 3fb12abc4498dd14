package faults

import (
	"context"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A Reorder holds back some percent of the packets on some links for a while,
// so that those behind overtake them.
type Reorder struct {
	Percent   float64
	Hold      time.Duration
	Seed      uint64
	With      string // nodes, clients, all
	Direction string // both, out, in
}

// Name is reorder.
func (Reorder) Name() string { return "reorder" }

// Plan plans one queue for all links of the target.
func (r Reorder) Plan(_ context.Context, target Target) (*Injection, error) {
	links, err := target.links(r.With, r.Direction)
	if err != nil {
		return nil, err
	}
	t, err := target.treat(netqueue.Treatment{Do: netqueue.Delay, Percent: r.Percent, Delay: r.Hold, Seed: r.Seed}, links)
	if err != nil {
		return nil, err
	}
	seen := share{what: "overtaken", percent: r.Percent, of: func(p router.Pings) float64 { return float64(p.Reordered) }}
	return t.proveShare(target, seen), nil
}

func reorder() Kind {
	return Kind{
		Type: "reorder",
		Draw: Draw{All: true, Params: func(d Dice, s Setting, p map[string]any) {
			p["percent"] = whole(d, 10, 40)
			drawLinks(d, s, p)
		}},
		Summary: "some percent of the packets are held back for a while, so that those sent after them arrive before them",
		Params: []Param{
			{Name: "percent", Default: 10.0, Min: 1, Max: 90, Less: true, Doc: "of the packets on these links, as on a wire"},
			{Name: "hold_ms", Default: 20.0, Min: 5, Max: 1000, Less: true, Doc: "how long they are held back"},
			packetSeed(), directionParam(), withParam("all"),
		},
		Targets: networkTargets(),
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 5.0, "percent": 20.0}},
		New: func(p Params) (Fault, error) {
			return Reorder{
				Percent: p.number("percent"), Hold: p.milliseconds("hold_ms"), Seed: p.seed(),
				With: p.text("with"), Direction: p.text("direction"),
			}, nil
		},
		Available: byRouter("nfqueue"),
	}
}
