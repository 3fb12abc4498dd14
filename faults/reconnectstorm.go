package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// ReconnectStorm resets all connections of the target's clients in one
// instant, lets them come back at once, and does so again every PeriodMS.
type ReconnectStorm struct{ PeriodMS float64 }

// Name is reconnect_storm.
func (ReconnectStorm) Name() string { return "reconnect_storm" }

// Plan plans a rule in the tap.
func (f ReconnectStorm) Plan(_ context.Context, target Target) (*Injection, error) {
	return target.connectionFault(tap.Rule{Do: tap.Close, PeriodMS: f.PeriodMS}, crowd.ended)
}

func reconnectStorm() Kind {
	return connectionKind("reconnect_storm",
		"all connections are reset in one instant and come back at once, again and again",
		[]Param{{Name: "period_ms", Default: 1000.0, Min: 50, Max: 60_000, Doc: "from one time to the next"}},
		func(p Params) (Fault, error) { return ReconnectStorm{p.number("period_ms")}, nil }).
		drawn(Draw{Params: func(d Dice, _ Setting, p map[string]any) { p["period_ms"] = 250 * whole(d, 2, 8) }})
}
