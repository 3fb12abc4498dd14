package faults

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
)

// Pids bounds the threads and processes of the target's nodes to those they
// have and some to spare. The fault lands on a node that asks for more of them
// and is refused. A node that ends by it is started again at the heal.
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
		args:       limitArgs{Tasks: tasks},
		limit:      atMostTasks(tasks),
		doomed:     true,
		proofs:     refused,
	}
}

// refused is the effect: the kernel refused the node a thread or a process that it asked for.
func refused(n, _ Node, dir string) []Proof {
	m := &meter{count: func() (int64, error) {
		c, err := limits.Count(dir)
		return c.Refused, err
	}}
	p := m.grows(n, "threads refused to", "threads")
	p.Role = history.RoleEffect
	return []Proof{p}
}

func pids() Kind {
	return Kind{
		Type: "pids",
		Ends: true, ByPID: true,
		Summary: "the process gets no more threads than it has and a few to spare; asking for one fails with EAGAIN, and until it asks the fault has not landed",
		Params: []Param{{
			Name: "spare", Doc: "threads it may still make", Default: 0.0, Min: 0, Max: 100000,
		}},
		Targets: processTargets(),
		Example: Example{Target: "leader", Params: map[string]any{"duration_s": 20.0}, Unsure: true},
		New: func(p Params) (Fault, error) {
			spare, err := p.whole("spare")
			return Pids{Spare: spare}, err
		},
		Available: Pids{}.quota(1).available,
	}
}
