package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// outageEvery is how often a node that is about to go away for a moment is
// asked: a process is gone for far longer.
const outageEvery = 5 * time.Millisecond

// An outages is what new clients saw of nodes while a fault was applied that
// is over when its first sample is taken.
type outages struct {
	nodes  []Node
	failed []atomic.Int64
}

func newOutages(nodes []Node) *outages {
	return &outages{nodes: nodes, failed: make([]atomic.Int64, len(nodes))}
}

// watch connects to every node again and again, until it is stopped.
func (o *outages) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i, n := range o.nodes {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, err := n.Probe(ctx); err != nil && ctx.Err() == nil {
					o.failed[i].Add(1)
				}
				select {
				case <-ctx.Done():
				case <-time.After(outageEvery):
				}
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// proof is the effect on a node's clients: some of those that connected
// meanwhile were turned away.
func (o *outages) proof(n Node) Proof {
	i := slices.Index(o.nodes, n)
	return Proof{
		Name: "new clients that " + n.Name() + " did not answer", Node: n.Name(),
		Role: history.RoleEffect, Want: history.WantGrows, Unit: "clients",
		Read: func(context.Context) history.Sample {
			return history.Sample{OK: true, Value: float64(o.failed[i].Load())}
		},
	}
}

// anotherProcess is the mechanism's proof of a restart: the node is another
// process than before.
func anotherProcess(m Member) Proof {
	return Proof{
		Name: "process of " + m.Name(), Node: m.Name(), Role: history.RoleMechanism, Want: history.WantChanges,
		Read: func(context.Context) history.Sample {
			which, err := m.Process()
			if err != nil {
				return failed(err)
			}
			return history.Sample{OK: true, State: which}
		},
	}
}

// says is a proof by what a node says of itself.
func says(m Member, key string, role history.Role, want history.Want) Proof {
	return Proof{
		Name: fmt.Sprintf("%s of %s by its own word", key, m.Name()), Node: m.Name(), Role: role, Want: want,
		Read: func(ctx context.Context) history.Sample {
			word, err := m.Ask(ctx)
			if err != nil {
				return failed(err)
			}
			return history.Sample{OK: true, State: word[key]}
		},
	}
}
