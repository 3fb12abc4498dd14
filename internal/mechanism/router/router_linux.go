package router

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/google/nftables"
)

// probeHost is the host of our own that stands for the clients where no driver
// has one yet.
const probeHost = "probe"

// queueBase is the first queue number that is handed out. A namespace has
// queues of its own, so none of somebody else is met.
const queueBase = 1

// A Router shows rules in the network namespace that it was made in, and
// probes the links between the hosts around it.
type Router struct {
	opt    Options
	prober *prober

	table  *table
	broken error // why there is no table

	mu    sync.Mutex // guards table and what follows
	rules []Rule     // in place
	queue uint16     // the last one handed out
	lacks map[Action]string
}

// New opens the router of the calling process's network namespace. It changes
// nothing there before there is a rule. Where there is no nftables, Missing says
// so, and links can still be measured.
func New(opt Options) (*Router, error) {
	r := &Router{opt: opt, prober: newProber(), queue: queueBase - 1}
	r.table, r.broken = openTable(nftables.ChainHookForward)
	return r, nil
}

// Close removes all that is ours. The kernel does the same when the process
// dies.
func (r *Router) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules = nil
	err := r.prober.close()
	if r.table != nil {
		err = errors.Join(r.table.close(), err)
	}
	return err
}

// Missing says what this kernel lacks for an action, "" for nothing.
func (r *Router) Missing(a Action) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken != nil {
		return r.broken.Error()
	}
	if r.lacks == nil {
		r.lacks = map[Action]string{}
	}
	text, known := r.lacks[a]
	if !known {
		text = r.table.lacks(a)
		r.lacks[a] = text
	}
	return text
}

// Render shows exactly these rules, in one transaction: at no moment is a rule
// that stays not there. An error changes nothing.
func (r *Router) Render(_ context.Context, rules []Rule) error {
	if r.broken != nil {
		return r.broken
	}
	hosts, err := r.addresses()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	shown, err := resolve(rules, hosts)
	if err != nil {
		return err
	}
	if err := r.table.show(shown); err != nil {
		return err
	}
	r.rules = slices.Clone(rules)
	return nil
}

// Rules are the rules that are in place.
func (r *Router) Rules() []Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rules)
}

// Hits are what a fault's rules met since it is in place; zero where it is not.
func (r *Router) Hits(fault string) (Hits, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.rules, func(rule Rule) bool { return rule.Fault == fault }) {
		return Hits{}, nil
	}
	k, err := r.addresses()
	if err != nil {
		return Hits{}, err
	}
	return r.table.hits(fault, k.servers)
}

// Disturbed reports whether a rule of any other fault is about what one host
// sends to another.
func (r *Router) Disturbed(from, to, fault string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return disturbed(r.rules, from, to, fault, r.among)
}

// Queue answers a number for an NFQUEUE of this namespace that was not handed
// out before.
func (r *Router) Queue() (uint16, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.queue == ^uint16(0) {
		return 0, errors.New("all queue numbers were handed out; start a new cluster")
	}
	r.queue++
	return r.queue, nil
}

// Interface is the router's end of the cable to a host.
func (r *Router) Interface(host string) (string, error) {
	h, err := r.host(host)
	if err != nil {
		return "", err
	}
	return h.Link(), nil
}

// Address is that of a host.
func (r *Router) Address(host string) (netip.Addr, error) {
	h, err := r.host(host)
	if err != nil {
		return netip.Addr{}, err
	}
	return address(h)
}

// Client is a host that rules for Clients are about: a driver's, or one of our
// own where there is none.
func (r *Router) Client() (string, error) {
	for _, h := range r.opt.Hosts() {
		if r.opt.Client(h.Name()) {
			return h.Name(), nil
		}
	}
	h, err := r.opt.AddHost(probeHost)
	if err != nil {
		return "", fmt.Errorf("make a host that stands for the clients: %w", err)
	}
	return h.Name(), nil
}

func (r *Router) host(name string) (Host, error) {
	var known []string
	for _, h := range r.opt.Hosts() {
		if h.Name() == name {
			return h, nil
		}
		known = append(known, h.Name())
	}
	return nil, fmt.Errorf("no host %q; there are %s", name, strings.Join(known, ", "))
}

func address(h Host) (netip.Addr, error) {
	a, err := netip.ParseAddr(h.Address())
	if err != nil {
		return a, fmt.Errorf("address of %s: %w", h.Name(), err)
	}
	return a, nil
}

// addresses of all hosts, those of clients apart: they are matched as all that
// are none of the others.
func (r *Router) addresses() (known, error) {
	k := known{all: map[string]netip.Addr{}}
	for _, h := range r.opt.Hosts() {
		a, err := address(h)
		if err != nil {
			return k, err
		}
		k.all[h.Name()] = a
		if !r.opt.Client(h.Name()) {
			k.servers = append(k.servers, a)
		}
	}
	return k, nil
}
