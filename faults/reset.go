package faults

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A Reset ends the TCP connections that are established on some links, once:
// both ends get an error. Nothing keeps anybody from connecting again.
type Reset struct {
	With string // nodes, clients, all
}

// Name is reset.
func (Reset) Name() string { return "reset" }

// Plan plans to end the connections that are there when it happens.
func (r Reset) Plan(_ context.Context, target Target) (*Injection, error) {
	net, err := target.network()
	if err != nil {
		return nil, err
	}
	links, err := target.links(r.With, "both")
	if err != nil {
		return nil, err
	}
	hit, err := pairs(net, links)
	if err != nil {
		return nil, err
	}
	c := &connections{net: net, links: links}
	in := &Injection{Mechanism: "sock_destroy", Step: c.end}
	in.Proofs = append(c.count(target, hit), c.gone())
	if other := c.other(target); len(other) > 0 {
		in.Proofs = append(in.Proofs, c.stay(other))
	}
	in.Proofs = append(in.Proofs, target.others(net, 0)...)
	return in, nil
}

// Connections are the established TCP connections of hosts.
type Connections interface {
	// Sockets are the ends of connections at the From of links.
	Sockets(links []router.Link) ([]router.Socket, error)
	// Reset ends connections and returns one end of each that it ended.
	Reset(sockets []router.Socket) ([]router.Socket, error)
}

// connections are those that one reset is about.
type connections struct {
	net   Net
	links []router.Link

	mu    sync.Mutex
	ended []router.Socket // before the reset none
	reset []router.Socket // of those, one end of each that the kernel ended
	done  bool
}

func (c *connections) end(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	sockets, err := c.net.Sockets(c.links)
	if err != nil {
		return err
	}
	c.ended, c.done = sockets, true
	c.reset, err = c.net.Reset(sockets)
	return err
}

// count are the mechanism's proofs: how many connections of each node the kernel ended.
func (c *connections) count(t Target, hit []pair) []Proof {
	return t.counted(c.net, hit, "connections reset", "connections", func() (uint64, map[netip.Addr]uint64, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		ends := map[netip.Addr]uint64{}
		for _, s := range c.reset {
			ends[s.Local.Addr()]++
			ends[s.Remote.Addr()]++
		}
		return uint64(len(c.reset)), ends, nil
	})
}

// gone is the effect: of the connections that were there none is left. Those
// made since are others.
func (c *connections) gone() Proof {
	return Proof{
		Name: "connections on these links", Role: history.RoleEffect, Want: history.WantFails, Unit: "connections",
		Read: func(context.Context) history.Sample {
			c.mu.Lock()
			defer c.mu.Unlock()
			now, err := c.net.Sockets(c.links)
			if c.done {
				now = slices.DeleteFunc(now, func(s router.Socket) bool { return !slices.Contains(c.ended, s) })
			}
			if err == nil && len(now) == 0 {
				err = errors.New("none is there")
			}
			return value(float64(len(now)), err)
		},
	}
}

// other are links of the cluster that the reset is not about.
func (c *connections) other(t Target) []router.Link {
	hit, err := pairs(c.net, c.links)
	if err != nil {
		return nil
	}
	var out []router.Link
	for _, a := range t.Peers {
		for _, b := range t.Peers {
			p := pair{a.Name(), b.Name()}
			if a != b && !slices.Contains(hit, p) {
				out = append(out, router.Link{From: []string{p.from}, To: []string{p.to}})
			}
		}
	}
	if sockets, err := c.net.Sockets(out); err != nil || len(sockets) == 0 {
		return nil
	}
	return out
}

// stay is the control: of the connections on other links one at least is the
// same as before.
func (c *connections) stay(links []router.Link) Proof {
	var before []router.Socket
	return Proof{
		Name: "connections between other nodes", Role: history.RoleControl, Want: history.WantStill,
		Read: func(context.Context) history.Sample {
			now, err := c.net.Sockets(links)
			c.mu.Lock()
			defer c.mu.Unlock()
			if !c.done {
				before = now
			}
			same := slices.DeleteFunc(now, func(s router.Socket) bool { return !slices.Contains(before, s) })
			if err == nil && len(same) == 0 {
				err = fmt.Errorf("none of %d is left", len(before))
			}
			return value(float64(len(same)), err)
		},
	}
}

func reset() Kind {
	return Kind{
		Type:            "reset",
		Draw:            Draw{Params: func(d Dice, s Setting, p map[string]any) { p["with"] = linksOf(d, s) }},
		Summary:         "TCP connections that are established on these links end with an error on both sides, once; everybody may connect again",
		Params:          []Param{withParam("all")},
		Targets:         networkTargets(),
		Example:         Example{Target: "leader", Params: map[string]any{"duration_s": 1.0}},
		DefaultDuration: time.Second,
		New:             func(p Params) (Fault, error) { return Reset{With: p.text("with")}, nil },
		Available:       byRouter("sock_destroy"),
	}
}
