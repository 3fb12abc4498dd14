package faults

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// Slow makes file operations wait.
type Slow struct{ Rule disk.Rule }

// Name is slow.
func (Slow) Name() string { return "slow" }

// Plan plans a delay on every node's disk.
func (s Slow) Plan(ctx context.Context, target Target) (*Injection, error) {
	return planRule(ctx, target, s.Rule, func(n Node, d Disk) Proof { return slower(n, d, s.Rule) })
}

// longestWait is the largest delay that a probe waits for in full.
const longestWait = 2 * time.Second

// slower is the effect: an operation takes as long as the delay. One that was
// not done within a sample's time took at least as long as that.
func slower(n Node, d DiskProbe, rule disk.Rule) Proof {
	op := operation(rule.Ops)
	return Proof{
		Name: fmt.Sprintf("%s on the disk of %s", op, n.Name()), Node: n.Name(),
		Role: history.RoleEffect, Want: history.WantReaches, Unit: "ms",
		Margin: milliseconds(min(rule.Delay, longestWait)),
		Read: func(ctx context.Context) history.Sample {
			return quickest(func() history.Sample { return timed(ctx, d, op) })
		},
	}
}

// timed is how long an operation of ours took, in milliseconds.
func timed(ctx context.Context, d DiskProbe, op disk.Op) history.Sample {
	ctx, cancel := context.WithTimeout(ctx, longestWait+longestWait/4)
	defer cancel()
	began := time.Now()
	got, err := d.Touch(ctx, op, 1)
	switch waited := time.Since(began); {
	case errors.Is(err, context.DeadlineExceeded) && waited >= longestWait:
		return history.Sample{OK: true, Value: milliseconds(waited), State: fmt.Sprintf("not done after %.0f ms", milliseconds(waited))}
	case err != nil:
		return failed(err)
	case got.Errno != "":
		return history.Sample{Error: got.Errno}
	}
	return history.Sample{OK: true, Value: milliseconds(got.Took)}
}

func slow() Kind {
	return diskKind(Kind{
		Type: "slow",
		Draw: Draw{Params: func(d Dice, _ Setting, p map[string]any) {
			p["delay_ms"], p["op"] = 10*whole(d, 3, 20), oneOf(d, "write", "any")
		}},
		Summary: "file operations wait before they are done",
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 3.0, "delay_ms": 50.0, "op": "write"}},
		Params: []Param{
			{Name: "delay_ms", Default: 100.0, Min: 1, Max: 60_000, Less: true, Doc: "that each one waits"},
			{Name: "jitter_ms", Default: 0.0, Min: 0, Max: 60_000, Less: true, Doc: "a random part of it is added"},
			opParam("any"), pathParam(), seedParam(),
		},
		New: func(p Params) (Fault, error) {
			rule, err := ruleOf(p)
			rule.Delay, rule.Jitter = p.milliseconds("delay_ms"), p.milliseconds("jitter_ms")
			if err != nil {
				return nil, err
			}
			return Slow{rule}, checkRule(rule)
		},
	})
}

// ruleOf returns a rule with the parameters that all rules take: the
// operations, the files and the seed.
func ruleOf(p Params) (disk.Rule, error) {
	ops, err := parseOps(p.text("op"))
	return disk.Rule{Ops: ops, Path: p.text("path"), Seed: p.seed()}, err
}
