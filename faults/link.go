package faults

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A Link is the way between two sides, as a target: leader~clients.
type Link struct {
	Near, Far Side
	OneWay    bool // only what Near sends to Far
}

// How a link is asked for, in a kind's targets.
const (
	bothWays = "A~B"
	oneWay   = "A>B"
)

// SplitLink takes apart a target that is a link: leader~clients, both ways, or
// node-1>node-2, one way. Any other target is none.
func SplitLink(target string) (near, far string, directed, ok bool) {
	if near, far, ok = strings.Cut(target, "~"); ok {
		return near, far, false, true
	}
	near, far, ok = strings.Cut(target, ">")
	return near, far, ok, ok
}

// Sides are the two of a link, or the one that another target is.
func Sides(target string) []string {
	if near, far, _, link := SplitLink(target); link {
		return []string{near, far}
	}
	return []string{target}
}

// CheckTarget refuses a target of a form that the type of fault does not take.
func CheckTarget(typ, target string) error {
	near, far, _, link := SplitLink(target)
	if !link {
		for _, k := range Catalog() {
			if k.Type == typ {
				return checkClients(k, target)
			}
		}
		return nil
	}
	for _, k := range Catalog() {
		if k.Type == typ && !slices.Contains(k.Targets, bothWays) {
			return fmt.Errorf("%s acts on nodes, not on the link %s; valid: %s", typ, target, strings.Join(k.Targets, ", "))
		}
	}
	for _, side := range []string{near, far} {
		switch {
		case side == "" || strings.ContainsAny(side, "~>"):
			return fmt.Errorf("link %q: it has two sides, as in leader~clients (both ways) or node-1>node-2 (one way)", target)
		case side == witnessName:
			return fmt.Errorf("link %q: the witness is the control, and no fault touches it; a side is a node, a role, or clients", target)
		}
	}
	if near == far {
		return fmt.Errorf("link %q: both sides are the same", target)
	}
	return nil
}

// A Side is one end of a link: nodes, clients, or both.
type Side struct {
	Nodes   []Node
	Clients bool
}

func (s Side) hosts() []string {
	out := names(s.Nodes)
	if s.Clients {
		out = append(out, router.Clients)
	}
	return out
}

// withParam says which links of a node are meant, where the target is no link.
func withParam(preset string) Param {
	return Param{
		Name: "with", Default: preset, OneOf: []string{"nodes", "clients", "all"},
		Doc: "the other end of the links, if the target is no link itself: the other nodes, the clients, or both",
	}
}

func directionParam() Param {
	return Param{
		Name: "direction", Default: "both", OneOf: []string{"both", "out", "in"},
		Doc: "which packets: both ways, only those that the target (of a link, its first side) sends, or only those sent to it",
	}
}

// link returns the target as a link. If the target is nodes, the link leads to
// the others named by with: nodes, clients or both. A target that is every node
// has no other nodes, which is an error if with asks for nodes only.
func (t Target) link(with string) (Link, error) {
	if t.Link != nil {
		return *t.Link, nil
	}
	far := Side{Clients: with != "nodes"}
	if with != "clients" {
		far.Nodes = t.Peers
	}
	l := Link{Near: Side{Nodes: t.Nodes}, Far: far}
	if len(far.hosts()) == 0 {
		return l, fmt.Errorf("%s has no link with other nodes: there is none; set with to clients", t.Asked)
	}
	return l, nil
}

// links are the directions of the way between a target and the others, and of
// the ways among its own nodes: those of a fault that makes links worse.
func (t Target) links(with, direction string) ([]router.Link, error) {
	inner := t.Link == nil && with != "clients" && len(t.Nodes) > 1
	var out []router.Link
	if inner {
		out = append(out, router.Link{From: names(t.Nodes), To: names(t.Nodes)})
	}
	l, err := t.link(with)
	if err != nil && inner {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	outer, err := l.directed(direction)
	return slices.Concat(outer, out), err
}

// directed are the directions of a link.
func (l Link) directed(direction string) ([]router.Link, error) {
	out := router.Link{From: l.Near.hosts(), To: l.Far.hosts()}
	in := router.Link{From: out.To, To: out.From}
	switch {
	case l.OneWay && direction == "in":
		return nil, errors.New("direction in contradicts a target of one way; leave it out, or ask for the link the other way round")
	case l.OneWay, direction == "out":
		return []router.Link{out}, nil
	case direction == "in":
		return []router.Link{in}, nil
	}
	return []router.Link{out, in}, nil
}

// A pair is one direction between two hosts, for probes.
type pair struct{ from, to string }

func (p pair) String() string { return p.from + " to " + p.to }

// crossed are the links of such a fault, and the two hosts of each.
func (t Target) crossed(net Net, with, direction string) ([]router.Link, []pair, error) {
	links, err := t.links(with, direction)
	if err != nil {
		return nil, nil, err
	}
	hit, err := pairs(net, links)
	return links, hit, err
}

// pairs are the directions between hosts that links are about, each once, with
// one client for all of them.
func pairs(net Prober, links []router.Link) ([]pair, error) {
	client := ""
	host := func(name string) (_ string, err error) {
		if name != router.Clients {
			return name, nil
		}
		if client == "" {
			client, err = net.Client()
		}
		return client, err
	}
	var out []pair
	for _, l := range links {
		for _, from := range l.From {
			for _, to := range l.To {
				a, failed := host(from)
				b, err := host(to)
				if err := cmp.Or(failed, err); err != nil {
					return nil, err
				}
				p := pair{a, b}
				if from != to && !slices.Contains(out, p) {
					out = append(out, p)
				}
			}
		}
	}
	return out, nil
}
