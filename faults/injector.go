package faults

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// An Injector is a chaos tool that disturbs the network in place of the router's rules and queues. It
// gives the mechanism's word, and counts no packets.
type Injector interface {
	// Name is the mechanism's.
	Name() string
	// Lacks says why it cannot do something to packets, "" if it can. How is of [router.Queue].
	Lacks(do router.Action, how netqueue.Treatment) string
	// Injected counts the injections of a fault at hosts. Why is "" if none is missing.
	Injected(ctx context.Context, fault string) (counts map[string]int, why string, err error)
	// Left is an error if something of a fault that was taken back is still there.
	Left(ctx context.Context, fault string) error
}

// by is the mechanism of a network fault: the injector, or what does it without one.
func (t Target) by(mechanism string) string {
	if i := t.Site.Injector; i != nil {
		return i.Name()
	}
	return mechanism
}

// injected are the mechanism's proofs of an injector: its word on each node of these links, or on all
// together if no node of the target is at an end.
func (t Target) injected(hit []pair, in *Injection) (proofs []Proof) {
	const injected = "injected"
	proof := func(name, node string, of func(map[string]int) int) Proof {
		return Proof{
			Name: name, Node: node, Role: history.RoleMechanism, Want: history.WantState, Expect: injected,
			Read: func(ctx context.Context) history.Sample {
				counts, why, err := t.Site.Injector.Injected(ctx, in.id())
				s := value(float64(of(counts)), err)
				s.State = cmp.Or(why, "not "+injected)
				if why == "" && s.Value > 0 {
					s.State = injected
				}
				return s
			},
		}
	}
	name := t.Site.Injector.Name()
	for _, n := range names(t.Nodes) {
		if slices.ContainsFunc(hit, func(p pair) bool { return p.from == n || p.to == n }) {
			proofs = append(proofs, proof(name+" at "+n, n, func(counts map[string]int) int { return counts[n] }))
		}
	}
	if len(proofs) == 0 {
		proofs = append(proofs, proof(name, "", func(counts map[string]int) int { return len(counts) }))
	}
	return proofs
}

// lacks is an error if an injector cannot treat packets so.
func (t Target) lacks(how netqueue.Treatment) error {
	if i := t.Site.Injector; i != nil && i.Lacks(router.Queue, how) != "" {
		return fmt.Errorf("%w: %s; start the cluster without arm %s", ErrUnsupported, i.Lacks(router.Queue, how), i.Name())
	}
	return nil
}

// left reads back that an injector has taken a fault back.
func (t Target) left(in *Injection) Check {
	return unnumbered("injections of "+t.Site.Injector.Name(), func(ctx context.Context) error {
		return t.Site.Injector.Left(ctx, in.id())
	})
}
