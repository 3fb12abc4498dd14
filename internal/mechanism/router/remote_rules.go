package router

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"net/rpc"
	"reflect"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
)

// Join shows rules about clients at a host of clients that is new.
func (r *Remote) Join(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !aboutClients(r.rules) {
		return nil
	}
	for _, host := range r.opt.Clients() {
		if _, err := r.agent(ctx, host); err != nil {
			return err
		}
	}
	return nil
}

// aboutClients reports whether a rule is about links with clients.
func aboutClients(rules []Rule) bool {
	return slices.ContainsFunc(rules, func(rule Rule) bool {
		return slices.ContainsFunc(rule.Links, func(l Link) bool {
			return slices.Contains(l.From, Clients) || slices.Contains(l.To, Clients)
		})
	})
}

// named are rules with the names of hosts in place of [Clients].
func (r *Remote) named(rules []Rule) (out []Rule) {
	for _, rule := range rules {
		rule.Links = r.namedLinks(rule.Links)
		rule.Links = slices.DeleteFunc(rule.Links, func(l Link) bool { return len(l.From) == 0 || len(l.To) == 0 })
		if len(rule.Links) > 0 {
			out = append(out, rule)
		}
	}
	return out
}

func (r *Remote) namedLinks(links []Link) (out []Link) {
	for _, l := range links {
		out = append(out, Link{From: r.namedHosts(l.From), To: r.namedHosts(l.To)})
	}
	return out
}

func (r *Remote) namedHosts(names []string) (out []string) {
	for _, name := range names {
		if name != Clients {
			out = append(out, name)
			continue
		}
		for _, client := range r.opt.Clients() {
			if _, ok := r.own[client]; ok { // the others are about to join
				out = append(out, client)
			}
		}
	}
	return out
}

// Missing says what the kernel of a node lacks for an action, "" for nothing.
func (r *Remote) Missing(do Action) string {
	if r.opt.Injector != nil {
		return r.opt.Injector.Lacks(do, netqueue.Treatment{})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, node := range r.opt.Nodes() {
		lacks := ""
		a, err := r.agent(context.Background(), node)
		if err == nil {
			lacks, err = ask[string](context.Background(), r, a, "Missing", do)
		}
		if err != nil {
			return err.Error()
		}
		if lacks != "" {
			return node + ": " + lacks
		}
	}
	return ""
}

// Render shows exactly these rules. Each node shows those about packets to it.
func (r *Remote) Render(ctx context.Context, rules []Rule) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.change(ctx, slices.Clone(rules), r.queues)
}

// Treat treats the packets of a queue at every node.
func (r *Remote) Treat(queue uint16, how netqueue.Treatment) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queues[queue] == how {
		return nil
	}
	queues := maps.Clone(r.queues)
	queues[queue] = how
	return r.change(context.Background(), r.rules, queues)
}

// Release lets all packets of a queue pass, the held ones at once.
func (r *Remote) Release(queue uint16) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.queues[queue]; !ok {
		return nil
	}
	queues := maps.Clone(r.queues)
	delete(queues, queue)
	return r.change(context.Background(), r.rules, queues)
}

// change shows other rules and treats other queues. If something among them is new, an error leaves
// both as they were. Otherwise they are taken away, also from a node without an agent: the next agent
// shows what is left. The caller holds the lock.
func (r *Remote) change(ctx context.Context, rules []Rule, queues map[uint16]netqueue.Treatment) error {
	fresh := r.fresh(rules, queues)
	if r.closed && fresh {
		return errClosed
	}
	oldRules, oldQueues := r.rules, r.queues
	if !fresh {
		r.rules, r.queues = rules, queues
	}
	err := r.show(ctx, rules, queues, fresh)
	if err != nil && fresh {
		return errors.Join(err, r.show(ctx, oldRules, oldQueues, false))
	}
	r.rules, r.queues = rules, queues
	return err
}

// fresh reports whether there is something among rules and queues that is not in place.
func (r *Remote) fresh(rules []Rule, queues map[uint16]netqueue.Treatment) bool {
	for n, how := range queues {
		if r.queues[n] != how {
			return true
		}
	}
	return slices.ContainsFunc(rules, func(rule Rule) bool {
		return !slices.ContainsFunc(r.rules, func(old Rule) bool { return reflect.DeepEqual(old, rule) })
	})
}

// show has every host show its part of rules, and treat all queues. It attaches agents, or leaves
// out nodes without one. The caller holds the lock.
func (r *Remote) show(ctx context.Context, rules []Rule, queues map[uint16]netqueue.Treatment, attach bool) error {
	if attach {
		hosts := r.opt.Nodes()
		if aboutClients(rules) {
			hosts = r.hosts()
		}
		for _, node := range hosts {
			if _, err := r.agent(ctx, node); err != nil {
				return err
			}
		}
	}
	leads, err := r.leads()
	if err != nil {
		return err
	}
	rules = r.named(rules)
	if r.opt.Injector != nil {
		return r.opt.Injector.Render(ctx, r.disturbances(rules, queues, leads))
	}
	var all errgroup.Group // a node that fails keeps no other from its part
	for node, a := range r.agents {
		if !slices.Contains(r.hosts(), node) { // a client that has left
			continue
		}
		part := Part{Own: a.own, Hosts: maps.Clone(r.own), Leads: leads, Rules: rules, Queues: queues}
		all.Go(func() error {
			_, err := ask[struct{}](context.WithoutCancel(ctx), r, a, "Show", part)
			ended := errors.Is(err, rpc.ErrShutdown) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
			if err == nil || ended && !attach { // an agent that has ended shows nothing
				return nil
			}
			return fmt.Errorf("show rules in the network of %s: %w", node, err)
		})
	}
	return all.Wait()
}

// Rules are the rules that are in place.
func (r *Remote) Rules() []Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rules)
}

// Hits count the packets that met a fault's rules, at the agents of now.
func (r *Remote) Hits(fault string) (all Hits, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all.Servers = map[netip.Addr]Count{}
	for node, a := range r.agents {
		h, err := ask[Hits](context.Background(), r, a, "Hits", fault)
		if err != nil {
			return all, fmt.Errorf("count packets at %s: %w", node, err)
		}
		all.Matched, all.Hit, all.Probes = all.Matched.plus(h.Matched), all.Hit.plus(h.Hit), all.Probes.plus(h.Probes)
		for at, c := range h.Servers {
			all.Servers[at] = all.Servers[at].plus(c)
		}
	}
	return all, r.fold(func(lead, own netip.Addr) {
		if c, ok := all.Servers[lead]; ok {
			delete(all.Servers, lead)
			all.Servers[own] = all.Servers[own].plus(c)
		}
	})
}

// Counts are what a queue met at all nodes.
func (r *Remote) Counts(queue uint16) (all netqueue.Counts, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all.Ends = map[netip.Addr]uint64{}
	for node, a := range r.agents {
		c, err := ask[netqueue.Counts](context.Background(), r, a, "Counts", queue)
		if err != nil {
			return all, fmt.Errorf("count packets of queue %d at %s: %w", queue, node, err)
		}
		all.Treated = all.Treated || c.Treated
		all.Matched, all.Hit, all.Probes = all.Matched+c.Matched, all.Hit+c.Hit, all.Probes+c.Probes
		all.Held, all.Overflown = all.Held+c.Held, all.Overflown+c.Overflown
		for at, n := range c.Ends {
			all.Ends[at] += n
		}
	}
	return all, r.fold(func(lead, own netip.Addr) {
		if n, ok := all.Ends[lead]; ok {
			delete(all.Ends, lead)
			all.Ends[own] += n
		}
	})
}

func (c Count) plus(d Count) Count { return Count{c.Packets + d.Packets, c.Bytes + d.Bytes} }

// Disturbed reports whether a rule of any other fault is about what one host sends to another.
func (r *Remote) Disturbed(from, to, fault string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return disturbed(r.rules, from, to, fault, func(names []string, host string) bool { return slices.Contains(r.namedHosts(names), host) })
}

// Queue hands out a queue number.
func (r *Remote) Queue() (uint16, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue++
	return r.queue, nil
}

// leads are the addresses that lead to nodes. Packets from a node have it as their source if they
// belong to a connection to it.
func (r *Remote) leads() (map[string]netip.Addr, error) {
	all := map[string]netip.Addr{}
	for _, node := range r.opt.Nodes() {
		at, err := r.opt.Reach(node)
		if err != nil {
			return nil, err
		}
		all[node] = at.Addr()
	}
	return all, nil
}

// fold calls a function with the address that leads to a node, and the node's own, if they differ.
func (r *Remote) fold(add func(lead, own netip.Addr)) error {
	leads, err := r.leads()
	for node, lead := range leads {
		if own, ok := r.own[node]; ok && own != lead {
			add(lead, own)
		}
	}
	return err
}
