package faults

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// HalfOpen takes the target's clients away as the loss of their host would:
// the broker is told nothing, its end stays open and silent. They stay away
// until it is healed. A broker notices by its keep alive, after one and a half
// times that.
type HalfOpen struct{}

// Name is half_open.
func (HalfOpen) Name() string { return "half_open" }

// Plan plans a rule in the tap.
func (HalfOpen) Plan(_ context.Context, target Target) (*Injection, error) {
	return target.connectionFault(tap.Rule{Do: tap.HalfOpen}, func(c crowd) Proof { return c.halfOpen(target.Site.Clients) })
}

// halfOpen is the effect: the nodes' kernels show connections that the clients
// themselves say are gone. A broker that notices, later, does not undo that. If a node
// runs elsewhere, the tap's own ends of the connections to it stand for its kernel.
func (c crowd) halfOpen(clients Clients) Proof {
	const atNode = "open at the node alone"
	look, shown := c.look, "as the nodes' kernels show them"
	if c.hidden() {
		look, shown = c.held, "as the tap holds them at the node's side"
	}
	var seen atomic.Bool
	return Proof{
		Name: fmt.Sprintf("the %d connections, %s and as the clients say", len(c.conns), shown),
		Role: history.RoleEffect, Want: history.WantState, Expect: atNode,
		Read: func(ctx context.Context) history.Sample {
			waits, err := look(ctx)
			s, open, total := sampleOf(err), len(waits), len(c.conns)
			connected := clients.Connected(c.ids())
			switch {
			case total == 0:
				s.State = "there are none"
			case connected == 0 && (open == total || seen.Load()):
				s.State = atNode
				seen.Store(true)
			default:
				s.State = fmt.Sprintf("of %d open at the node %d, at the client %d", total, open, connected)
			}
			return s
		},
	}
}

func halfOpen() Kind {
	return connectionKind("half_open",
		"the clients are gone without a word: the broker's ends of their connections stay open and silent until it is healed, and no client comes back before; longer than one and a half keep alives shows whether the broker notices",
		nil, func(Params) (Fault, error) { return HalfOpen{}, nil }).
		drawn(Draw{Silences: true})
}
