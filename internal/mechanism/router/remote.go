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
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/offset"
)

// RemoteOptions say between whom a [Remote] is.
type RemoteOptions struct {
	Nodes   func() []string // their names
	Clients func() []string // names of the hosts of clients, those of now
	Others  func() bool     // there are clients elsewhere, about which no rule can be
	// Attach starts [Serve] in the network namespace of a host. It returns the agent's streams
	// and the host's address for other hosts. Closing the streams ends reads and writes.
	Attach func(ctx context.Context, host string) (io.ReadWriteCloser, netip.Addr, error)
	// Reach returns the probe port of a node for this machine, at the address by which peers know
	// the node.
	Reach func(node string) (netip.AddrPort, error)
	// Witness is the host of the probes from this machine. No rule is about it.
	Witness string
}

// A Remote shows rules between hosts of other machines, nodes and clients, treats the packets that they
// queue, and probes the links between them. Each host has an agent in its network namespace, attached
// on demand. Its rules are gone with it, so the next agent of a node shows them again. Neither routes
// nor cables can be acted on.
type Remote struct {
	opt   RemoteOptions
	bound time.Duration // see agentBound

	mu     sync.Mutex
	agents map[string]*attached
	own    map[string]netip.Addr // of each host, as its last agent had it
	rules  []Rule
	queues map[uint16]netqueue.Treatment
	queue  uint16                        // the last number
	burst  uint64                        // the last session
	clocks map[[2]string]offset.Estimate // of links
	closed bool
}

// An attached is the agent of a host.
type attached struct {
	*rpc.Client
	own netip.Addr
}

// ErrRemote is that a network of other machines cannot do something.
var ErrRemote = fmt.Errorf("%w between nodes of other machines", errors.ErrUnsupported)

// ErrAgent is that a host could not be asked. It tells nothing of the network.
var ErrAgent = errors.New("the agent of a host is away")

// ErrNoAnswer is that an agent hangs.
var ErrNoAnswer = fmt.Errorf("%w: it does not answer", ErrAgent)

var errClosed = errors.New("the network of the nodes is closed")

// NewRemote attaches nothing yet.
func NewRemote(opt RemoteOptions) *Remote {
	return &Remote{
		opt: opt, bound: agentBound, agents: map[string]*attached{}, own: map[string]netip.Addr{},
		queues: map[uint16]netqueue.Treatment{}, clocks: map[[2]string]offset.Estimate{},
	}
}

// Close ends the agents, and with them their rules.
func (r *Remote) Close() (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.rules = true, nil
	clear(r.queues)
	for _, a := range r.agents {
		err = errors.Join(err, a.Close())
	}
	clear(r.agents)
	return err
}

// agentBound is how long an agent may take to begin, and to answer. The longest bursts take a few
// seconds.
const agentBound = 10 * time.Second

// hosts are those that may have an agent.
func (r *Remote) hosts() []string { return slices.Concat(r.opt.Nodes(), r.opt.Clients()) }

// agent returns that of a host. If there is none it attaches one, and has it show the rules first. The
// caller holds the lock.
func (r *Remote) agent(ctx context.Context, host string) (*attached, error) {
	if a := r.agents[host]; a != nil {
		return a, nil
	}
	if r.closed {
		return nil, errClosed
	}
	if !slices.Contains(r.hosts(), host) {
		return nil, fmt.Errorf("no host %q: %w", host, ErrAgent)
	}
	ctx, cancel := context.WithTimeout(ctx, r.bound)
	defer cancel()
	conn, own, err := r.opt.Attach(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("attach to the network of %s: %w: %w", host, ErrAgent, err)
	}
	a := &attached{own: own}
	left := make(chan struct{})
	a.Client = rpc.NewClient(&watched{conn, sync.OnceFunc(func() { close(left) })})
	r.agents[host], r.own[host] = a, own
	go func() {
		<-left
		r.lost(host, a)
	}()
	_, err = ask[Sighting](ctx, r, a, "Seen", uint64(0)) // it answers once its ports are open
	if err == nil && r.shows() {
		err = r.show(ctx, r.rules, r.queues, false)
	}
	if err != nil {
		a.Close()
		delete(r.agents, host)
		return nil, fmt.Errorf("attach to the network of %s: %w", host, err)
	}
	return a, nil
}

// A watched tells when it cannot be read any more.
type watched struct {
	io.ReadWriteCloser
	left func()
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadWriteCloser.Read(b)
	if err != nil {
		w.left()
	}
	return n, err
}

// shows reports whether agents have something to show.
func (r *Remote) shows() bool { return len(r.rules)+len(r.queues) > 0 }

// ask calls a method of an agent, and ends the agent if it does not answer within the bound: a machine
// may hang.
func ask[T any](ctx context.Context, r *Remote, a *attached, method string, args any) (T, error) {
	type reply struct {
		value T
		err   error
	}
	replied := make(chan reply, 1)
	go func() {
		var got reply
		got.err = a.Call(agentName+"."+method, args, &got.value)
		replied <- got
	}()
	bound := time.NewTimer(r.bound)
	defer bound.Stop()
	select {
	case got := <-replied:
		if _, told := got.err.(rpc.ServerError); got.err != nil && !told {
			return got.value, fmt.Errorf("%w: %w", ErrAgent, got.err)
		}
		return got.value, got.err
	case <-ctx.Done():
		return *new(T), ctx.Err()
	case <-bound.C:
		a.Close()
		return *new(T), fmt.Errorf("%w within %s; look at the machine of %s", ErrNoAnswer, r.bound, a.own)
	}
}

// lost forgets an agent that is gone, and attaches the next one if there are rules: the node may have
// been restarted.
func (r *Remote) lost(host string, a *attached) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.Close()
	if r.agents[host] != a {
		return
	}
	delete(r.agents, host)
	for !r.closed && r.shows() && r.agents[host] == nil && slices.Contains(r.hosts(), host) {
		if _, err := r.agent(context.Background(), host); err != nil {
			r.mu.Unlock()
			time.Sleep(200 * time.Millisecond)
			r.mu.Lock()
		}
	}
}

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

// Address is that of a node, as other nodes see it.
func (r *Remote) Address(host string) (netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, err := r.agent(context.Background(), host)
	if err != nil {
		return netip.Addr{}, err
	}
	return a.own, nil
}

// Client is a host of clients.
func (r *Remote) Client() (string, error) {
	if r.opt.Others() {
		return "", fmt.Errorf("rules for clients: %w: clients run on this machine too, and no rule reaches them; end their workload, or set with to nodes", ErrRemote)
	}
	if all := r.opt.Clients(); len(all) > 0 {
		return all[0], nil
	}
	return "", fmt.Errorf("rules for clients: %w: no client runs in a pod; start a workload of an SDK that is part of rmq-mcp, without arm: tap, or set with to nodes", ErrRemote)
}

// Ping sends probes from one node to another, or from the witness to a node, and waits for them,
// for a bounded time.
func (r *Remote) Ping(ctx context.Context, ping Ping) (Pings, error) {
	pings, err := r.ping(ctx, ping)
	if err != nil {
		err = fmt.Errorf("ping %s from %s: %w", ping.To, ping.From, err)
	}
	return pings, err
}

func (r *Remote) ping(ctx context.Context, ping Ping) (pings Pings, err error) {
	r.mu.Lock()
	r.burst++
	b := Burst{Session: r.burst, Ping: ping}
	to, err := r.agent(ctx, ping.To)
	var from *attached
	if err == nil && ping.From != r.opt.Witness {
		from, err = r.agent(ctx, ping.From)
	}
	r.mu.Unlock()
	if err != nil {
		return pings, err
	}
	var sending Sending
	if from == nil {
		if b.To, err = r.opt.Reach(ping.To); err == nil {
			sending, err = probeFromHere(ctx, b)
		}
	} else {
		b.To = netip.AddrPortFrom(to.own, ProbePort)
		sending, err = ask[Sending](ctx, r, from, "Send", b)
	}
	var seen Sighting
	if err == nil {
		seen, err = ask[Sighting](ctx, r, to, "Seen", b.Session)
	}
	if err != nil {
		return pings, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	link := [2]string{ping.From, ping.To}
	known := r.clocks[link]
	if !known.Known() {
		known = r.clocks[[2]string{ping.To, ping.From}].Reversed()
	}
	r.clocks[link] = observed(known, sending, seen)
	return joinedBy(r.clocks[link], sending, seen), nil
}

// Dial connects from one node to a TCP port of another, 0 for its probe port.
func (r *Remote) Dial(ctx context.Context, from, to string, port int) (time.Duration, error) {
	if port == 0 {
		port = ProbePort
	}
	r.mu.Lock()
	b, err := r.agent(ctx, to)
	var a *attached
	if err == nil {
		a, err = r.agent(ctx, from)
	}
	r.mu.Unlock()
	var took time.Duration
	if err == nil {
		took, err = ask[time.Duration](ctx, r, a, "Dial", netip.AddrPortFrom(b.own, uint16(port)))
	}
	if err != nil {
		return 0, fmt.Errorf("connect from %s to %s: %w", from, to, err)
	}
	return took, nil
}

// Queue hands out a queue number.
func (r *Remote) Queue() (uint16, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue++
	return r.queue, nil
}

// ChecksumErrors counts what a node threw away because of wrong checksums.
func (r *Remote) ChecksumErrors(host string) (n uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, err := r.agent(context.Background(), host)
	if err == nil {
		n, err = ask[uint64](context.Background(), r, a, "ChecksumErrors", struct{}{})
	}
	if err != nil {
		return 0, fmt.Errorf("wrong checksums at %s: %w", host, err)
	}
	return n, nil
}

// Unroute is unsupported.
func (*Remote) Unroute(context.Context, string, []string) error { return ErrRemote }

// Route is unsupported.
func (*Remote) Route(string, string) (string, error) { return "", ErrRemote }

// NoRoute is unsupported.
func (*Remote) NoRoute(string) (uint64, error) { return 0, ErrRemote }

// Ends is unsupported.
func (*Remote) Ends([]Link) ([]End, error) { return nil, ErrRemote }

// Sockets are the ends of established TCP connections at the From of any link whose other end is at
// its To. A peer is known by its own address, or by the one that leads to it.
func (r *Remote) Sockets(links []Link) (all []Socket, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	links = r.namedLinks(links)
	leads, err := r.leads()
	if err != nil {
		return nil, err
	}
	for _, node := range r.hosts() {
		asked := Asked{Host: node}
		for _, l := range links {
			if !slices.Contains(l.From, node) {
				continue
			}
			for _, peer := range l.To {
				p, err := r.agent(context.Background(), peer)
				if err != nil {
					return nil, err
				}
				asked.With = append(asked.With, p.own)
				if lead, ok := leads[peer]; ok {
					asked.With = append(asked.With, lead)
				}
			}
		}
		if len(asked.With) == 0 {
			continue
		}
		a, err := r.agent(context.Background(), node)
		if err != nil {
			return nil, err
		}
		ends, err := ask[[]Socket](context.Background(), r, a, "Sockets", asked)
		if err != nil {
			return nil, fmt.Errorf("list the connections of %s: %w", node, err)
		}
		all = append(all, ends...)
	}
	return all, nil
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

// Reset ends connections at these ends of them, and returns one end of each that it ended, with the
// nodes' own addresses.
func (r *Remote) Reset(sockets []Socket) (done []Socket, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := map[netip.Addr]netip.Addr{}
	if err := r.fold(func(lead, at netip.Addr) { own[lead] = at }); err != nil {
		return nil, err
	}
	for _, node := range r.hosts() {
		mine := slices.DeleteFunc(slices.Clone(sockets), func(s Socket) bool { return s.Host != node })
		if len(mine) == 0 {
			continue
		}
		a, err := r.agent(context.Background(), node)
		if err != nil {
			return done, err
		}
		ended, err := ask[[]Socket](context.Background(), r, a, "Reset", mine)
		for i, s := range ended {
			if a, ok := own[s.Remote.Addr()]; ok {
				ended[i].Remote = netip.AddrPortFrom(a, s.Remote.Port())
			}
		}
		done = joined(done, ended)
		if err != nil {
			return done, fmt.Errorf("reset connections of %s: %w", node, err)
		}
	}
	return done, nil
}
