package faults

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/hostile"
	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
)

// ConnectionFlood has clients hold connections that they do not use.
type ConnectionFlood struct{ rule hostile.Rule }

// Name is connection_flood.
func (ConnectionFlood) Name() string { return "connection_flood" }

// Plan plans connections to every node.
func (f ConnectionFlood) Plan(ctx context.Context, t Target) (*Injection, error) {
	crowd := t.Site.Hostile
	if err := f.fits(len(t.Nodes)); err != nil {
		return nil, err
	}
	return t.hostile(f.rule, func(n Node, fault func() string) []Proof {
		var most history.Sample
		blind := unseen(ctx, n)
		count, where := held, "in the kernel of "
		if blind {
			count, where = open, "open to "
		}
		return []Proof{
			came(crowd, n, f.rule.Connections, fault),
			{
				Name: "of these, " + where + n.Name(), Node: n.Name(), Role: history.RoleEffect, Want: history.WantGrows, Unit: "connections",
				Read: func(ctx context.Context) history.Sample {
					s := count(ctx, n, crowd.Tally(n.Name(), fault()).Open)
					if state, err := n.State(ctx); err == nil && hasEnded(state) {
						return most // it ended of them, perhaps, and held so many
					}
					if s.OK && s.Value >= most.Value {
						most = s
					}
					if blind {
						return most // nobody can say whether it has ended
					}
					return s
				},
			},
		}
	})
}

// came is the proof that most of the clients of a flood came to a node.
func came(crowd Hostile, n Node, clients int, fault func() string) Proof {
	return Proof{
		Name: "clients that came to " + n.Name() + " to connect", Node: n.Name(), Role: history.RoleMechanism, Want: history.WantSlower, Margin: mostCome * float64(clients), Unit: "clients",
		Read: func(context.Context) history.Sample {
			return history.Sample{OK: true, Value: float64(crowd.Tally(n.Name(), fault()).Tried)}
		},
	}
}

// mostCome is the share of the clients that must have come. A node may turn them away, end
// their connections, or end itself: that is its answer to the flood.
const mostCome = 0.8

// spareFiles are left to this process for its own: histories, probes, journals.
const spareFiles = 1000

// fits refuses more connections than this process may have open files.
func (f ConnectionFlood) fits(nodes int) error {
	files, err := limits.OpenFiles(os.Getpid())
	if err != nil {
		return nil // only Linux tells
	}
	if most := (int(files.Soft) - files.Open - spareFiles) / max(nodes, 1); f.rule.Connections > most {
		return fmt.Errorf("hold %d connections to each of %d nodes: this process may have %d files open; ask for at most %d, or raise the limit (ulimit -n)",
			f.rule.Connections, nodes, files.Soft, max(most, 0))
	}
	return nil
}

// unseen reports whether nobody can look into the kernel of a node, or somebody else runs it:
// its connections may then be in another network namespace, or behind a proxy.
func unseen(ctx context.Context, n Node) bool {
	f, ok := n.(foreigner)
	_, err := sockets(ctx, n)
	return ok && f.Foreign() != nil || errors.Is(err, ErrUnsupported)
}

// open counts our connections that the node's kernel accepted and nobody has ended.
func open(_ context.Context, _ Node, ours []string) history.Sample {
	return history.Sample{OK: true, Value: float64(len(ours))}
}

// held counts those of our connections that a node's kernel shows.
func held(ctx context.Context, n Node, ours []string) history.Sample {
	there, err := sockets(ctx, n)
	if err != nil {
		return failed(err)
	}
	s := history.Sample{OK: true}
	for _, address := range ours {
		if _, open := there[address]; open {
			s.Value++
		}
	}
	return s
}

func connectionFlood() Kind {
	return Kind{
		Type:    "connection_flood",
		Summary: "clients of ours hold connections that they do not use: without a byte, with a CONNECT of a byte a second, or as whole clients",
		Params: []Param{
			{Name: "connections", Default: 500.0, Min: 1, Max: 20000, Less: true, Doc: "to each node; what ends is opened again"},
			{Name: "handshake", Default: hostile.SlowHandshake, OneOf: []string{hostile.NoHandshake, hostile.SlowHandshake, hostile.WholeHandshake}, Doc: "how far each goes"},
			seedParam(),
		},
		Targets: processTargets(),
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 4.0}},
		New: func(p Params) (Fault, error) {
			n, err := p.whole("connections")
			return ConnectionFlood{hostile.Rule{Do: hostile.Flood, Seed: p.seed(), Connections: n, Handshake: p.text("handshake")}}, err
		},
		Available: hostileAvailable,
	}
}
