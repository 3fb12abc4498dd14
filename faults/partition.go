package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A Partition lets nothing pass on some links: silently, as a broken cable
// does, or refusing, as a firewall does. Connections are not ended by it; what
// is sent on them is.
type Partition struct {
	Shape string // node, halves, majority, minority, bridge, ring, one_way
	Mode  string // drop, reject
	With  string // nodes, clients, all
}

// Name is partition.
func (Partition) Name() string { return "partition" }

// Plan plans one rule for all links that are cut.
func (p Partition) Plan(_ context.Context, target Target) (*Injection, error) {
	net, err := target.router(router.Action(p.Mode))
	if err != nil {
		return nil, err
	}
	links, err := p.links(target)
	if err != nil {
		return nil, err
	}
	cut, err := target.alone(net, links)
	if err != nil {
		return nil, err
	}
	in := &Injection{
		Mechanism: target.by("nft"),
		Entries:   []Entry{netEntry(router.Rule{Do: router.Action(p.Mode), Links: links})},
	}
	in.Proofs = append(in.Proofs, hits(net, target, cut, in)...)
	for _, c := range unharmed(net, cut) {
		in.Proofs = append(in.Proofs, blocked(net, c))
	}
	for _, c := range spared(net, target, cut) {
		in.Proofs = append(in.Proofs, passes(net, c, 0))
	}
	in.Proofs = append(in.Proofs, target.others(net, 0)...)
	in.Healed = target.passAgain(net, in, cut)
	return in, nil
}

// spared are directions between two other nodes that must stay, at most two.
func spared(net Filter, t Target, cut []pair) []pair {
	var out []pair
	others := names(t.Control)
	for _, from := range others {
		for _, to := range others {
			p := pair{from, to}
			mine := from == to || from == witnessName || to == witnessName || slices.Contains(cut, p)
			if !mine && len(out) < 2 && !net.Disturbed(from, to, "") {
				out = append(out, p)
			}
		}
	}
	return out
}

// links are the directions that a shape cuts.
func (p Partition) links(t Target) ([]router.Link, error) {
	switch p.Shape {
	case "node", "one_way":
		l, err := t.link(p.With)
		if err != nil {
			return nil, err
		}
		l.OneWay = l.OneWay || p.Shape == "one_way"
		return l.directed("both")
	}
	if t.Link != nil {
		return nil, fmt.Errorf("shape %s is of a whole cluster and %s is a link; ask for a node or a role, or for shape node or one_way", p.Shape, t.Asked)
	}
	if p.With != "nodes" {
		return nil, fmt.Errorf("shape %s is between nodes; leave with out, or use shape node or one_way", p.Shape)
	}
	a, b, err := p.sides(t)
	if err != nil {
		return nil, err
	}
	if p.Shape == "ring" {
		return ring(slices.Sorted(slices.Values(a)))
	}
	if len(a) == 0 || len(b) == 0 {
		return nil, fmt.Errorf("shape %s of %d nodes cuts nothing; it needs more of them", p.Shape, len(t.Nodes)+len(t.Peers))
	}
	return []router.Link{{From: a, To: b}, {From: b, To: a}}, nil
}

// sides are the nodes on either side of the cut. The target's come first, then
// the others by name.
func (p Partition) sides(t Target) (a, b []string, err error) {
	own, rest := names(t.Nodes), slices.Sorted(slices.Values(names(t.Peers)))
	all := slices.Concat(own, rest)
	n := len(all)
	take := map[string]int{"halves": n / 2, "majority": n/2 + 1, "minority": (n - 1) / 2, "ring": n}
	switch {
	case p.Shape == "bridge" && len(own) != 1:
		return nil, nil, fmt.Errorf("a bridge is one node, and %s is %s", t.Asked, strings.Join(own, ", "))
	case p.Shape == "bridge":
		return rest[:len(rest)/2], rest[len(rest)/2:], nil
	case len(own) > take[p.Shape]:
		return nil, nil, fmt.Errorf("%s are %d of %d nodes, more than fit on their side of %s", t.Asked, len(own), n, p.Shape)
	}
	return all[:take[p.Shape]], all[take[p.Shape]:], nil
}

// ring cuts every node off from all but its two neighbours by name.
func ring(nodes []string) ([]router.Link, error) {
	n := len(nodes)
	if n < 4 {
		return nil, errors.New("in a ring of fewer than 4 nodes everybody is a neighbour of everybody; use another shape")
	}
	var out []router.Link
	for i, from := range nodes {
		var far []string
		for step := 2; step <= n-2; step++ {
			far = append(far, nodes[(i+step)%n])
		}
		out = append(out, router.Link{From: []string{from}, To: far})
	}
	return out, nil
}

func partition() Kind {
	return Kind{
		Type: "partition",
		Draw: Draw{Takes: true, Params: func(d Dice, s Setting, p map[string]any) {
			p["mode"] = oneOf(d, "drop", "reject")
			shapes := []string{"node", "node", "one_way"}
			if s.Nodes > 2 {
				shapes = append(shapes, "minority", "majority")
			}
			if p["shape"] = oneOf(d, shapes...); p["shape"] == "node" || p["shape"] == "one_way" {
				p["with"] = linksOf(d, s)
			}
		}},
		Summary: "nothing passes on some links: the target is cut off from the others, or the cluster falls apart in another shape",
		Params: []Param{
			{
				Name: "shape", Default: "node", OneOf: []string{"node", "halves", "majority", "minority", "bridge", "ring", "one_way"},
				Doc: "node: the target | the others; halves, majority, minority: the target and as many nodes as make that | the rest; bridge: two halves, and the target sees both; ring: each node sees its two neighbours; one_way: packets from the target are lost, packets to it arrive",
			},
			{Name: "mode", Default: "drop", OneOf: []string{"drop", "reject"}, Doc: "drop: silence, as of a broken cable; reject: a reset or an ICMP error at once, as of a firewall"},
			withParam("nodes"),
		},
		Targets: networkTargets(),
		Example: Example{Target: "leader", Params: map[string]any{"duration_s": 4.0}},
		New: func(p Params) (Fault, error) {
			return Partition{Shape: p.text("shape"), Mode: p.text("mode"), With: p.text("with")}, nil
		},
		Available: byRouter("nft"),
	}
}
