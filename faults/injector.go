package faults

import (
	"cmp"
	"context"
	"fmt"
	"maps"
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
	// Injected says of each host that sends on a link of a fault why the fault is not injected there, ""
	// if it is.
	Injected(ctx context.Context, fault string) (hosts map[string]string, err error)
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
// together if no node of the target is at an end. The word on hosts that are no target counts for each.
func (t Target) injected(hit []pair, in *Injection) (proofs []Proof) {
	const injected = "injected"
	targets, name := names(t.Nodes), t.Site.Injector.Name()
	proof := func(name, node string) Proof {
		return Proof{
			Name: name, Node: node, Role: history.RoleMechanism, Want: history.WantState, Expect: injected,
			Read: func(ctx context.Context) history.Sample {
				hosts, err := t.Site.Injector.Injected(ctx, in.id())
				if err != nil {
					return failed(err)
				}
				state := "not " + injected
				for _, host := range slices.Sorted(maps.Keys(hosts)) {
					if node != "" && host != node && slices.Contains(targets, host) {
						continue
					}
					if state = cmp.Or(hosts[host], injected); state != injected {
						break
					}
				}
				return history.Sample{OK: true, State: state}
			},
		}
	}
	for _, n := range targets {
		if slices.ContainsFunc(hit, func(p pair) bool { return p.from == n || p.to == n }) {
			proofs = append(proofs, proof(name+" at "+n, n))
		}
	}
	if len(proofs) == 0 {
		proofs = append(proofs, proof(name, ""))
	}
	return proofs
}

// alone returns the pairs of these links, and for an injector an error if another network fault is at a
// host that sends on them. Chaos Mesh takes all its rules off a pod for each change, and of two rules for
// a packet it applies any.
func (t Target) alone(net Net, links []router.Link) ([]pair, error) {
	hit, err := pairs(net, links)
	if err != nil || t.Site.Injector == nil {
		return hit, err
	}
	nodes := names(slices.Concat(t.Nodes, t.Peers))
	for _, rule := range net.Rules() {
		for _, l := range rule.Links {
			for _, p := range hit {
				client := !slices.Contains(nodes, p.from) && slices.Contains(l.From, router.Clients)
				if client || slices.Contains(l.From, p.from) {
					return nil, fmt.Errorf("%w: %s injects one fault at a time at %s, and %s is there; heal it first", ErrUnsupported, t.Site.Injector.Name(), p.from, rule.Fault)
				}
			}
		}
	}
	return hit, nil
}

// lacks is an error if an injector cannot treat packets so.
func (t Target) lacks(how netqueue.Treatment) error {
	if i := t.Site.Injector; i != nil {
		if why := i.Lacks(router.Queue, how); why != "" {
			return fmt.Errorf("%w: %s; start the cluster without arm %s", ErrUnsupported, why, i.Name())
		}
	}
	return nil
}

// left reads back that an injector has taken a fault back.
func (t Target) left(in *Injection) Check {
	return unnumbered("injections of "+t.Site.Injector.Name(), func(ctx context.Context) error {
		return t.Site.Injector.Left(ctx, in.id())
	})
}
