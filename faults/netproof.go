package faults

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// Prober measures links and counts at hosts. Its probes are counted apart from the packets of
// the system.
type Prober interface {
	// Address is that of a host.
	Address(host string) (netip.Addr, error)
	// Client is a host that rules for [router.Clients] are about: a driver's, or
	// one of our own if there is none.
	Client() (string, error)
	// Ping measures a link.
	Ping(ctx context.Context, p router.Ping) (router.Pings, error)
	// Dial connects from one host to a TCP port of another, and answers how long
	// that took.
	Dial(ctx context.Context, from, to string, port int) (time.Duration, error)
	// ChecksumErrors counts the segments and datagrams that a host threw away
	// because their checksum was wrong.
	ChecksumErrors(host string) (uint64, error)
}

// Probes count as lost after this long, at most: links that another fault makes
// slow take their time. Where it is known how long they took before, ten times
// that and a pause that a busy host may make are enough.
const (
	probeWait  = time.Second
	probePause = 100 * time.Millisecond
)

// witnessName is the host of the witness.
const witnessName = "witness"

// id is the fault's, once the engine has given it one.
func (in *Injection) id() string {
	if len(in.Entries) == 0 {
		return ""
	}
	return in.Entries[0].Fault
}

// hits are the mechanism's proofs of a rule in the router: the packets of the
// system itself that it hit, of every node that the fault is about. Probes are
// counted apart, so a node to and from which nothing was sent shows none.
func hits(net Net, t Target, hit []pair, in *Injection) []Proof {
	if t.Site.Injector != nil {
		return t.injected(hit, in)
	}
	return t.counted(net, hit, "packets of the system that the rule hit", "packets", in.hits(net))
}

// hits counts the packets that the rule of an injection hit, and those of each address.
func (in *Injection) hits(net Filter) func() (uint64, map[netip.Addr]uint64, error) {
	return func() (uint64, map[netip.Addr]uint64, error) {
		h, err := net.Hits(in.id())
		ends := map[netip.Addr]uint64{}
		for a, c := range h.Servers {
			ends[a] = c.Packets
		}
		return h.Hit.Packets, ends, err
	}
}

// counted are proofs that a count grows: one for each of the target's nodes that is at
// an end of these ways, or one of all where none is, as around a bridge. Count returns
// the whole of it, and its parts by the address at either end.
func (t Target) counted(net Prober, hit []pair, name, unit string, count func() (uint64, map[netip.Addr]uint64, error)) []Proof {
	proof := func(name, node string, of func(all uint64, ends map[netip.Addr]uint64) (uint64, error)) Proof {
		return Proof{
			Name: name, Node: node, Role: history.RoleMechanism, Want: history.WantGrows, Unit: unit,
			Read: func(context.Context) history.Sample {
				all, ends, err := count()
				if err != nil {
					return value(0, err)
				}
				n, err := of(all, ends)
				return value(float64(n), err)
			},
		}
	}
	var out []Proof
	for _, n := range names(t.Nodes) {
		if slices.ContainsFunc(hit, func(p pair) bool { return p.from == n || p.to == n }) {
			out = append(out, proof(name+", of "+n, n, func(_ uint64, ends map[netip.Addr]uint64) (uint64, error) {
				a, err := net.Address(n)
				return ends[a], err
			}))
		}
	}
	if len(out) == 0 {
		out = append(out, proof(name, "", func(all uint64, _ map[netip.Addr]uint64) (uint64, error) { return all, nil }))
	}
	return out
}

// blocked is the effect of a cut: probes do not arrive.
func blocked(net Prober, p pair) Proof {
	var wait atomic.Int64
	wait.Store(int64(probeWait))
	return Proof{
		Name: "probes from " + p.String(),
		Role: history.RoleEffect, Want: history.WantFails, Unit: "ms",
		Read: func(ctx context.Context) history.Sample {
			s := passing(ctx, net, p, time.Duration(wait.Load()))
			if s.OK {
				wait.Store(int64(min(probeWait, probePause+time.Duration(10*s.Value*1e6))))
			}
			return s
		},
	}
}

// passes is a control: probes arrive as before, at most a margin slower, 0 for
// any. No fault acts on a link with the witness, so that is one whatever else is
// done to the node at its other end.
func passes(net Prober, p pair, margin time.Duration) Proof {
	node, peer := p.from, p.to
	if node == witnessName {
		node, peer = "", ""
	}
	return Proof{
		Name: "probes from " + p.String(), Node: node, Peer: peer,
		Role: history.RoleControl, Want: history.WantStill, Unit: "ms",
		Margin: float64(margin.Milliseconds()),
		Read:   func(ctx context.Context) history.Sample { return passing(ctx, net, p, probeWait) },
	}
}

// passing reads whether probes arrive, and the median of how long they take,
// one way.
func passing(ctx context.Context, net Prober, p pair, wait time.Duration) history.Sample {
	got, err := net.Ping(ctx, router.Ping{From: p.from, To: p.to, Wait: wait})
	if err == nil && got.Arrived == 0 {
		err = fmt.Errorf("none of %d arrived", got.Sent)
		if got.Error != "" {
			err = errors.New(got.Error)
		}
	}
	if err != nil {
		return failed(err)
	}
	slices.Sort(got.There)
	return history.Sample{OK: true, Value: got.There[len(got.There)/2].Seconds() * 1e3}
}

// others are the controls of a fault on links: the other nodes run, the links
// between every node and the witness are as before, and the witness answers.
func (t Target) others(net Net, margin time.Duration) []Proof {
	var out []Proof
	for _, n := range slices.Concat(t.Nodes, t.Peers) {
		out = append(out, passes(net, pair{witnessName, n.Name()}, margin))
	}
	return append(out, untouched(t.Control)...)
}

// unharmed leaves out what rules of other faults are about already, where
// anything else is left: nothing can be seen there.
func unharmed(net Filter, all []pair) []pair {
	free := slices.DeleteFunc(slices.Clone(all), func(p pair) bool { return net.Disturbed(p.from, p.to, "") })
	if len(free) == 0 {
		return all
	}
	return free
}

// unruled reads back that the router shows nothing of a fault any more.
func unruled(net Filter, in *Injection) Check {
	return unnumbered("rule in the router", func(context.Context) error {
		if slices.ContainsFunc(net.Rules(), func(r router.Rule) bool { return r.Fault == in.id() }) {
			return errors.New("its rule is still in the router")
		}
		return nil
	})
}

// passAgain reads back that the rule is gone and that probes pass.
func (t Target) passAgain(net Net, in *Injection, all []pair) []Check {
	out := []Check{unruled(net, in)}
	if t.Site.Injector != nil {
		out = append(out, t.left(in))
	}
	for _, p := range all {
		out = append(out, onLink(net, in, p, "probes", "ms", func(ctx context.Context) (float64, error) {
			s := passing(ctx, net, p, probeWait)
			if !s.OK {
				return 0, fmt.Errorf("probes from %s: %s", p, s.Error)
			}
			return s.Value, nil
		}))
	}
	return out
}

// onLink is a check of one direction of a link, which says nothing as long as a
// rule of another fault is there.
func onLink(net Filter, in *Injection, p pair, what, unit string, read func(context.Context) (float64, error)) Check {
	return Check{Name: what + " from " + p.String(), Unit: unit, Read: func(ctx context.Context) (float64, error) {
		if net.Disturbed(p.from, p.to, in.id()) {
			return 0, errShared
		}
		return read(ctx)
	}}
}

// value is a sample of a number, unless reading it failed.
func value(v float64, err error) history.Sample {
	if err != nil {
		return failed(err)
	}
	return history.Sample{OK: true, Value: v}
}
