package faults

import (
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// An Unreachable takes away the target's routes: its packets to the others fail
// at once with "no route to host". Packets from the others still arrive.
type Unreachable struct {
	With string // nodes, clients, all
}

// Name is unreachable.
func (Unreachable) Name() string { return "unreachable" }

// Plan plans routes in the namespace of every node of the target.
func (u Unreachable) Plan(_ context.Context, target Target) (*Injection, error) {
	net, err := target.network()
	if err != nil {
		return nil, err
	}
	l, err := target.link(u.With)
	if err != nil {
		return nil, err
	}
	if l.Near.Clients {
		return nil, fmt.Errorf("unreachable is about the routes of nodes; ask for %s>clients, or for a partition", target.Asked)
	}
	in := &Injection{Mechanism: "route"}
	for _, n := range l.Near.Nodes {
		in.Entries = append(in.Entries, Entry{
			Layer: layerRoute + "/" + n.Name(), Want: "unreachable", Args: routeArgs{l.Far.hosts()},
		})
		in.Proofs = append(in.Proofs, noRoute(net, n.Name()))
	}
	cut, err := pairs(net, []router.Link{{From: l.Near.hosts(), To: l.Far.hosts()}})
	if err != nil {
		return nil, err
	}
	if err := u.alone(net, target, l.Near.Nodes); err != nil {
		return nil, err
	}
	for _, p := range cut {
		in.Proofs = append(in.Proofs, routed(net, p), connects(net, p))
		in.Healed = append(in.Healed, reachable(net, p))
	}
	in.Proofs = append(in.Proofs, target.others(net, 0)...)
	return in, nil
}

// alone refuses nodes without a route to anybody: the kernel has one counter of the
// packets that met no route, and they could be those of another fault.
func (u Unreachable) alone(net Net, t Target, nodes []Node) error {
	others := append(names(t.Nodes), names(t.Peers)...)
	if client, err := net.Client(); err == nil {
		others = append(others, client)
	}
	for _, n := range names(nodes) {
		for _, other := range others {
			if other == n {
				continue
			}
			state, err := net.Route(n, other)
			if err != nil {
				return err
			}
			if state == "unreachable" {
				return fmt.Errorf("%s has no route to %s already, and its packets without a route could not be told apart; heal the fault that took it, or ask for one with: all", n, other)
			}
		}
	}
	return nil
}

// noRoute is the mechanism's proof: packets of the node's own connections that
// met no route.
func noRoute(net Routes, node string) Proof {
	return Proof{
		Name: "packets of " + node + " without a route", Node: node,
		Role: history.RoleMechanism, Want: history.WantGrows, Unit: "packets",
		Read: func(context.Context) history.Sample {
			n, err := net.NoRoute(node)
			return value(float64(n), err)
		},
	}
}

// routed is the effect as the node's own kernel says it.
func routed(net Routes, p pair) Proof {
	return Proof{
		Name: "route from " + p.String(), Node: p.from,
		Role: history.RoleEffect, Want: history.WantState, Expect: "unreachable",
		Read: func(context.Context) history.Sample {
			state, err := net.Route(p.from, p.to)
			s := value(0, err)
			s.State = state
			return s
		},
	}
}

// connects is the effect as a process on the node would see it.
func connects(net Prober, p pair) Proof {
	return Proof{
		Name: "connect from " + p.String(), Node: p.from,
		Role: history.RoleEffect, Want: history.WantFails, Unit: "ms",
		Read: func(ctx context.Context) history.Sample {
			took, err := net.Dial(ctx, p.from, p.to, 0)
			return value(took.Seconds()*1e3, err)
		},
	}
}

// reachable reads back that there is a route again.
func reachable(net Routes, p pair) Check {
	return Check{Name: "route from " + p.String(), Node: p.from, Read: func(context.Context) (float64, error) {
		state, err := net.Route(p.from, p.to)
		if err == nil && state != "reachable" {
			err = fmt.Errorf("%s is %s from %s", p.to, state, p.from)
		}
		return 0, err
	}}
}

// layerRoute is the layer of routes in one node's namespace: route/node-2.
const layerRoute = "route"

type routeLayer struct {
	net  Routes
	node string
}

// Routes are the hosts' own routes.
type Routes interface {
	// Unroute shows exactly these peers as unreachable in a host's own routing.
	Unroute(ctx context.Context, host string, peers []string) error
	// Route is how a host reaches another: reachable, or unreachable.
	Route(host, peer string) (string, error)
	// NoRoute counts the packets of a host's connections that met no route.
	NoRoute(host string) (uint64, error)
}

// routeArgs are the hosts without a route.
type routeArgs struct {
	Peers []string `json:"peers"`
}

// NewRouteLayer is the layer route/<name of the node>.
func NewRouteLayer(net Routes, node string) Layer { return routeLayer{net, node} }

func (l routeLayer) Render(ctx context.Context, active []Entry) error {
	var peers []string
	for _, e := range active {
		args, err := argsOf[routeArgs](e)
		if err != nil {
			return err
		}
		for _, p := range args.Peers {
			if !slices.Contains(peers, p) {
				peers = append(peers, p)
			}
		}
	}
	return l.net.Unroute(ctx, l.node, peers)
}

func unreachableKind() Kind {
	return Kind{
		Type:      "unreachable",
		Cabled:    true,
		Draw:      Draw{Takes: true, Params: func(d Dice, s Setting, p map[string]any) { p["with"] = linksOf(d, s) }},
		Summary:   "the target's own routes to the others are gone: its packets fail at once, packets to it arrive",
		Params:    []Param{withParam("nodes")},
		Targets:   networkTargets(),
		Example:   Example{Target: "leader", Params: map[string]any{"duration_s": 4.0}},
		New:       func(p Params) (Fault, error) { return Unreachable{With: p.text("with")}, nil },
		Available: byRouter("route"),
	}
}
