package faults

import (
	"context"
	"math"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
)

// CPU gives the target's processes a part of one core, all of their threads
// together: in every period of 100 ms they run for that part of it and wait
// for the rest. A node that needs less than that is not disturbed, and the
// fault did not land.
type CPU struct{ Percent float64 }

// Name is cpu.
func (CPU) Name() string { return "cpu" }

// Plan plans a quota for every node.
func (f CPU) Plan(ctx context.Context, target Target) (*Injection, error) {
	return f.quota().plan(ctx, target)
}

func (f CPU) quota() quota {
	return quota{
		controller: limits.CPU,
		args:       limitArgs{Percent: f.Percent},
		limit:      percentOfCore(f.Percent),
		proofs:     throttled,
	}
}

// throttledShare is the part of all periods, in percent, that a node must have
// been stopped in: what comes and goes, such as a reading of its metrics, does
// not make a landing.
const throttledShare = 10

// throttled are the mechanism's counter and the effect.
func throttled(n, witness Node, dir string) []Proof {
	m := &meter{count: func() (int64, error) {
		c, err := limits.Count(dir)
		return c.Throttled, err
	}}
	return []Proof{m.share(n), m.slower(n, witness)}
}

// share is the counter, as a part of the periods since it was first not there,
// those of our probes left out: a starved node keeps them waiting for most of
// the time.
func (m *meter) share(n Node) Proof {
	const period, few = 100 * time.Millisecond, 5
	var began time.Time
	var before time.Duration
	return Proof{
		Name: "periods with the processor taken from " + n.Name(), Node: n.Name(),
		Role: history.RoleMechanism, Want: history.WantSlower, Margin: throttledShare, Unit: "%",
		Read: func(context.Context) history.Sample {
			if began.IsZero() {
				began, before = time.Now(), m.probingTime()
			}
			v, err := m.read()
			if err != nil {
				return failed(err)
			}
			own := time.Since(began) - (m.probingTime() - before)
			periods := max(float64(own/period), few)
			return history.Sample{OK: true, Value: min(100*v/periods, 100)}
		},
	}
}

func cpu() Kind {
	return Kind{
		Type:    "cpu",
		ByPID:   true,
		Draw:    Draw{Params: func(d Dice, _ Setting, p map[string]any) { p["percent"] = whole(d, 2, 4) }},
		Summary: "the process gets part of one core and waits for the rest of every 100 ms",
		Params: []Param{{
			Name: "percent", Doc: "of one core, for all threads of a node together", Default: 10.0, Min: 1, Max: 6400,
		}},
		Targets: processTargets(),
		Example: Example{Target: "leader", Params: map[string]any{"duration_s": 5.0, "percent": 2.0}},
		New: func(p Params) (Fault, error) {
			return CPU{Percent: math.Round(p.number("percent")*10) / 10}, nil // the kernel counts µs
		},
		Available: CPU{}.quota().available,
	}
}
