package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/hostile"
)

// PublishFlood has clients publish as fast as the broker acknowledges.
type PublishFlood struct{ rule hostile.Rule }

// Name is publish_flood.
func (PublishFlood) Name() string { return "publish_flood" }

// Plan plans clients of every node.
func (f PublishFlood) Plan(_ context.Context, t Target) (*Injection, error) {
	crowd := t.Site.Hostile
	return t.hostile(f.rule, func(n Node, fault func() string) []Proof {
		count := func(name string, role history.Role, of func(hostile.Tally) int64) Proof {
			return Proof{
				Name: name + " " + n.Name(), Node: n.Name(), Role: role, Want: history.WantGrows, Unit: "messages",
				Read: func(context.Context) history.Sample {
					return history.Sample{OK: true, Value: float64(of(crowd.Tally(n.Name(), fault())))}
				},
			}
		}
		return []Proof{
			came(crowd, n, f.rule.Connections, fault),
			count("messages published to", history.RoleMechanism, func(t hostile.Tally) int64 { return t.Published }),
			count("of these were acknowledged by", history.RoleEffect, func(t hostile.Tally) int64 { return t.Acked }),
		}
	})
}

func publishFlood() Kind {
	return Kind{
		Type:    "publish_flood",
		Summary: "clients of ours publish with QoS 1 as fast as the broker acknowledges, to topics without subscribers",
		Params: []Param{
			{Name: "clients", Default: 1.0, Min: 1, Max: 100, Less: true, Doc: "of each node"},
			{Name: "window", Default: 100.0, Min: 1, Max: 1000, Less: true, Doc: "messages of each on their way at a time"},
			{Name: "payload_bytes", Default: 256.0, Min: 1, Max: 65536, Less: true, Doc: "of each message"},
			seedParam(),
		},
		Targets: processTargets(),
		Leaves:  true,
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 4.0, "window": 10.0}},
		New: func(p Params) (Fault, error) {
			r := hostile.Rule{Do: hostile.Pour, Seed: p.seed()}
			for _, f := range []struct {
				name string
				to   *int
			}{{"clients", &r.Connections}, {"window", &r.Window}, {"payload_bytes", &r.PayloadBytes}} {
				n, err := p.whole(f.name)
				if err != nil {
					return nil, err
				}
				*f.to = n
			}
			return PublishFlood{r}, nil
		},
		Available: hostileAvailable,
	}
}
