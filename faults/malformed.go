package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/hostile"
)

// Malformed has clients say what no MQTT client may say: packets that are cut
// off, changed, of a wrong length, out of turn, as large as can be, or with
// values at the edge and beyond (MQTT 3.1.1 section 4.8, MQTT 5.0 section 4.13).
type Malformed struct{ rule hostile.Rule }

// Name is malformed.
func (Malformed) Name() string { return "malformed" }

// Plan plans conversations with every node.
func (f Malformed) Plan(_ context.Context, t Target) (*Injection, error) {
	crowd := t.Site.Hostile
	in, err := t.hostile(f.rule, func(n Node, fault func() string) []Proof {
		count := func(of ...hostile.Answer) (sum float64) {
			answers := crowd.Tally(n.Name(), fault()).Answers
			for _, a := range of {
				sum += float64(answers[a])
			}
			return sum
		}
		return []Proof{{
			Name: "share of malformed conversations that came to " + n.Name(), Node: n.Name(),
			Role: history.RoleMechanism, Want: history.WantSlower, Margin: 100 * mostCome, Unit: "%",
			Read: func(context.Context) history.Sample {
				came := count(hostile.Refused, hostile.Tolerated, hostile.Deaf, hostile.Silent, hostile.Unheard)
				return history.Sample{OK: true, Value: 100 * came / max(came+count(hostile.Unreached, hostile.Unsaid), 1)}
			},
		}, {
			Name: "malformed conversations answered by " + n.Name(), Node: n.Name(),
			Role: history.RoleEffect, Want: history.WantGrows, Unit: "conversations",
			Read: func(context.Context) history.Sample {
				return history.Sample{OK: true, Value: count(hostile.Refused, hostile.Tolerated, hostile.Deaf)}
			},
		}}
	})
	if err != nil {
		return nil, err
	}
	in.Detail = func() any {
		out := map[string]hostile.Tally{}
		for _, n := range t.Nodes {
			out[n.Name()] = crowd.Tally(n.Name(), in.Entries[0].Fault)
		}
		return out
	}
	return in, nil
}

func malformed() Kind {
	return Kind{
		Type:    "malformed",
		Summary: "clients of ours send packets that are truncated, mutated, of false lengths, out of turn, huge, or with values at the edge; the detail has the last ones before a node was gone",
		Params: []Param{
			{Name: "rate_per_s", Default: 20.0, Min: 0.1, Max: 1000, Doc: "conversations with each node"},
			{Name: "kind", Default: "any", OneOf: slices.Concat([]string{"any"}, hostile.Kinds()), Doc: "of the conversations"},
			{Name: "first", Default: 0.0, Min: 0, Max: 1e9, UpTo: "last", Doc: "number of the first conversation; a number and the seed make it the same again"},
			{Name: "last", Default: 1e9, Min: 0, Max: 1e9, Doc: "number of the last, if there is time for so many; each is held with one of the nodes"},
			seedParam(),
		},
		Targets: processTargets(),
		Leaves:  true,
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 4.0, "rate_per_s": 5.0}},
		New: func(p Params) (Fault, error) {
			first, err := p.whole("first")
			if err != nil {
				return nil, err
			}
			last, err := p.whole("last")
			if last < first {
				err = errors.Join(err, fmt.Errorf("parameter last: %d; valid: no less than first, which is %d", last, first))
			}
			r := hostile.Rule{Do: hostile.Talk, Seed: p.seed(), First: first, Last: last, RatePerS: p.number("rate_per_s")}
			if kind := p.text("kind"); kind != "any" {
				r.Kind = kind
			}
			return Malformed{r}, err
		},
		Available: hostileAvailable,
	}
}
