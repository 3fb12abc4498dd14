package faults

import (
	"context"
	"errors"
	"fmt"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
)

// Pids bounds the threads and processes of the target's nodes to those they
// have and some to spare; as long as there are some, the fault did not land. A
// node that cannot bear it ends, and is started again at the heal.
type Pids struct{ Spare int }

// Name is pids.
func (Pids) Name() string { return "pids" }

// Plan counts the threads of every node and plans a limit just above.
func (f Pids) Plan(ctx context.Context, target Target) (*Injection, error) {
	var whole *Injection
	for i, n := range target.Nodes {
		number, err := pid(ctx, n)
		if err != nil {
			return nil, err
		}
		tasks, err := limits.CountTasks(number)
		if err != nil {
			return nil, fmt.Errorf("limit the threads of %s: %w", n.Name(), err)
		}
		one := target
		one.Nodes = []Node{n}
		if i > 0 {
			one.Control = nil
		}
		in, err := f.quota(tasks+f.Spare).plan(ctx, one)
		if err != nil {
			return nil, err
		}
		whole = join(whole, in)
	}
	return whole, nil
}

// join adds another injection of the same kind.
func join(a, b *Injection) *Injection {
	if a == nil {
		return b
	}
	a.Entries, a.Proofs, a.Healed = append(a.Entries, b.Entries...), append(a.Proofs, b.Proofs...), append(a.Healed, b.Healed...)
	return a
}

func (f Pids) quota(tasks int) quota {
	return quota{
		controller: limits.Pids,
		args:       map[string]any{"tasks": float64(tasks)},
		limit:      atMostTasks(tasks),
		doomed:     true,
		proofs:     refused,
	}
}

// refused is the effect: whoever asks for one more task in the group of the
// node gets none. Asked is as an operator would by a command beside the node,
// unless the kernel refused the node itself, which asks only when it must.
func refused(n, _ Node, dir string) []Proof {
	ours := int64(-1) // of what the kernel refused, with what it had before
	return []Proof{{
		Name: "one more task beside " + n.Name(), Node: n.Name(),
		Role: history.RoleEffect, Want: history.WantFails,
		Read: func(ctx context.Context) history.Sample {
			c, err := limits.Count(dir)
			if err != nil {
				return failed(err)
			}
			if ours < 0 {
				ours = c.Refused
			}
			// It may be about to end of it, which makes room.
			if c.Refused > ours {
				return history.Sample{Error: fmt.Sprintf("the node itself was refused %d", c.Refused-ours)}
			}
			err = limits.TryTask(ctx, dir)
			if errors.Is(err, limits.ErrRefused) {
				ours++
				return failed(err)
			}
			if err != nil { // no effect that anybody saw
				return history.Sample{OK: true, State: err.Error()}
			}
			return history.Sample{OK: true}
		},
	}}
}

func pids() Kind {
	return Kind{
		Type: "pids",
		Ends: true, ByPID: true,
		Summary: "the process gets no more threads than it has and a few to spare; asking for one fails with EAGAIN",
		Params: []Param{{
			Name: "spare", Doc: "threads it may still make", Default: 0.0, Min: 0, Max: 100000,
		}},
		Targets: processTargets(),
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 6.0}},
		New: func(p Params) (Fault, error) {
			spare, err := p.whole("spare")
			return Pids{Spare: spare}, err
		},
		Available: Pids{}.quota(1).available,
	}
}
