package faults

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A fakeNet is a router whose rules work, except where it is told otherwise.
// Every link carries traffic, unless it is quiet.
type fakeNet struct {
	missing string
	quiet   bool
	idle    string // this host sends nothing, and is sent nothing
	leaky   string // what is sent to this host passes whatever the rules say
	sticky  bool   // rules stay when they are taken out
	dead    bool   // rules have no effect

	mu    sync.Mutex
	rules []router.Rule
	hit   uint64
}

func (f *fakeNet) Missing(router.Action) string       { return f.missing }
func (f *fakeNet) Queue() (uint16, error)             { return 1, nil }
func (f *fakeNet) Interface(h string) (string, error) { return h, nil }
func (f *fakeNet) Client() (string, error)            { return "publishers-0", nil }

func (f *fakeNet) Render(_ context.Context, rules []router.Rule) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.sticky || len(rules) > 0 {
		f.rules = slices.Clone(rules)
	}
	return nil
}

func (f *fakeNet) Rules() []router.Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.rules)
}

func (f *fakeNet) Hits(string) (router.Hits, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.rules) > 0 && !f.quiet {
		f.hit++
	}
	servers := map[netip.Addr]router.Count{}
	for _, rule := range f.rules {
		for _, l := range rule.Links {
			for _, host := range slices.Concat(l.From, l.To) {
				if a, err := f.Address(host); err == nil && host != f.idle {
					servers[a] = router.Count{Packets: f.hit}
				}
			}
		}
	}
	return router.Hits{Hit: router.Count{Packets: f.hit}, Servers: servers}, nil
}

func (f *fakeNet) Disturbed(from, to, fault string) bool {
	in := func(names []string, h string) bool {
		return slices.Contains(names, h) || h == "publishers-0" && slices.Contains(names, router.Clients)
	}
	return slices.ContainsFunc(f.Rules(), func(r router.Rule) bool {
		return r.Fault != fault && slices.ContainsFunc(r.Links, func(l router.Link) bool { return in(l.From, from) && in(l.To, to) })
	})
}

func (f *fakeNet) Ping(_ context.Context, p router.Ping) (router.Pings, error) {
	if f.Disturbed(p.From, p.To, "") && p.To != f.leaky && !f.dead {
		time.Sleep(p.Wait)
		return router.Pings{Sent: 5}, nil
	}
	took := []time.Duration{time.Millisecond}
	return router.Pings{Sent: 5, Arrived: 5, Received: 5, RTT: took, There: took, Back: took, Span: 5 * took[0]}, nil
}

func (f *fakeNet) Dial(context.Context, string, string, int) (time.Duration, error) { return 0, nil }
func (f *fakeNet) Unroute(context.Context, string, []string) error                  { return nil }
func (f *fakeNet) Route(string, string) (string, error)                             { return "reachable", nil }
func (f *fakeNet) NoRoute(string) (uint64, error)                                   { return 0, nil }
func (f *fakeNet) Sockets([]router.Link) ([]router.Socket, error)                   { return nil, nil }
func (f *fakeNet) Ends([]router.Link) ([]router.End, error)                         { return nil, nil }
func (f *fakeNet) ChecksumErrors(string) (uint64, error)                            { return 0, nil }
func (f *fakeNet) Reset([]router.Socket) ([]router.Socket, error)                   { return nil, nil }

// Address is 198.18.0.1 for node-1; other hosts have none.
func (f *fakeNet) Address(host string) (netip.Addr, error) {
	number, ok := strings.CutPrefix(host, "node-")
	if !ok {
		return netip.Addr{}, errors.New(host + " is no node")
	}
	return netip.ParseAddr("198.18.0." + number)
}

// A fakeInjector says what it says, whatever the rules do.
type fakeInjector struct {
	net  *fakeNet
	why  map[string]string // by hosts at which it has not injected
	away error
	left error
}

func (*fakeInjector) Name() string { return "chaos-mesh" }

func (*fakeInjector) Lacks(_ router.Action, how netqueue.Treatment) string {
	if how.Burst > 0 {
		return "Chaos Mesh has no bursts of packets"
	}
	return ""
}

func (f *fakeInjector) Injected(context.Context, string) (map[string]string, error) {
	hosts := map[string]string{}
	for _, rule := range f.net.Rules() {
		for _, l := range rule.Links {
			for _, host := range l.From {
				hosts[host] = f.why[host]
			}
		}
	}
	if len(hosts) == 0 {
		return hosts, nil
	}
	return hosts, f.away
}

func (f *fakeInjector) Left(context.Context, string) error { return f.left }

// netRig is a rig whose layers are those of a fake router too.
func netRig(nodes int, net Net) (*rig, func(numbers ...int) Target) {
	r := newRig(nodes)
	inner := r.layer
	r.opt.Layer = func(name string) (Layer, error) {
		if name == layerNet {
			return NewNetLayer(net), nil
		}
		return inner(name)
	}
	r.layers = newLayers(r.opt.Layer)
	return r, func(numbers ...int) Target {
		t := r.on(numbers...)
		t.Site.Net, t.Peers = net, t.Control[:len(t.Control)-1]
		return t
	}
}

// The answers there are beside landed and not landed.
func TestPartitionAnswers(t *testing.T) {
	tests := []struct {
		name   string
		net    *fakeNet
		nodes  int // of the target; 0: 1
		bend   func(*rig)
		by     *fakeInjector // nil for the rules
		want   history.LandingState
		healed history.HealState
		reason string
	}{
		{name: "in order", net: &fakeNet{}, want: history.Landed, healed: history.HealVerified},
		{name: "no traffic", net: &fakeNet{quiet: true}, want: history.NotLanded, healed: history.HealVerified, reason: "the rule hit, of node-1: 0 packets before, 0 packets during"},
		{name: "no traffic of node-1", net: &fakeNet{idle: "node-1"}, want: history.NotLanded, healed: history.HealVerified, reason: "of node-1: 0 packets before, 0 packets during"},
		{name: "no traffic of one of two", net: &fakeNet{idle: "node-2"}, nodes: 2, want: history.Partial, healed: history.HealVerified, reason: "of node-2: 0 packets before, 0 packets during"},
		{name: "one way stays open", net: &fakeNet{leaky: "node-2"}, want: history.Partial, healed: history.HealVerified, reason: "node-1 to node-2"},
		{name: "the witness is silent", net: &fakeNet{}, bend: func(r *rig) { r.witness.state = Frozen }, want: history.Indeterminate, healed: history.HealVerified, reason: "witness"},
		{name: "the rule stays", net: &fakeNet{sticky: true}, want: history.Landed, healed: history.HealFailed, reason: "still in the router"},
		{name: "the kernel cannot", net: &fakeNet{missing: "nftables of this kernel cannot drop"}, want: history.Unsupported, healed: history.HealVerified, reason: "nftables of this kernel cannot drop"},
		{name: "injected", net: &fakeNet{quiet: true}, by: &fakeInjector{}, want: history.Landed, healed: history.HealVerified},
		{name: "injected without an effect", net: &fakeNet{dead: true}, by: &fakeInjector{}, want: history.NotLanded, healed: history.HealVerified, reason: "probes from node-1 to node-2: answered before, 0 of 2 failed during"},
		{name: "an effect that is not injected", net: &fakeNet{}, by: &fakeInjector{why: map[string]string{"node-1": "unable to set tcs"}}, want: history.NotLanded, healed: history.HealVerified, reason: "chaos-mesh at node-1: not injected before, unable to set tcs during"},
		{name: "not injected at the others", net: &fakeNet{}, by: &fakeInjector{why: map[string]string{"node-3": "unable to set tcs"}}, want: history.NotLanded, healed: history.HealVerified, reason: "chaos-mesh at node-1: not injected before, unable to set tcs during"},
		{name: "not injected at one of two", net: &fakeNet{}, nodes: 2, by: &fakeInjector{why: map[string]string{"node-2": "unable to set tcs"}}, want: history.Partial, healed: history.HealVerified, reason: "chaos-mesh at node-2: not injected before, unable to set tcs during"},
		{name: "injected in part", net: &fakeNet{leaky: "node-1"}, nodes: 2, by: &fakeInjector{}, want: history.Partial, healed: history.HealVerified, reason: "probes from node-3 to node-1"},
		{name: "no word of the injector", net: &fakeNet{}, by: &fakeInjector{away: errors.New("the API server is away")}, want: history.Indeterminate, healed: history.HealVerified, reason: "the API server is away"},
		{name: "injected for good", net: &fakeNet{}, by: &fakeInjector{left: errors.New("NetworkChaos f1-1 is still there")}, want: history.Landed, healed: history.HealFailed, reason: "f1-1 is still there"},
		{name: "no namespaces", want: history.Unsupported, healed: history.HealVerified, reason: "(rmq-mcp doctor)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var net Net
				if test.net != nil {
					net = test.net
				}
				r, on := netRig(3, net)
				if test.bend != nil {
					test.bend(r)
				}
				target := on([]int{1, 2}[:max(1, test.nodes)]...)
				if test.by != nil {
					test.by.net, target.Site.Injector = test.net, test.by
				}
				l, err := r.Inject(t.Context(), request(t, "partition", 10), target)
				if unsupported := errors.Is(err, ErrUnsupported); unsupported != (test.want == history.Unsupported) {
					t.Fatalf("error %v", err)
				}
				if l, err = r.Wait(t.Context(), l.Fault); err != nil {
					t.Fatal(err)
				}
				if l.State != test.want || l.Healed != test.healed || !strings.Contains(strings.Join(l.Reasons, "; "), test.reason) {
					t.Errorf("%s %q, healed %s; want %s, %s for %q", l.State, l.Reasons, l.Healed, test.want, test.healed, test.reason)
				}
			})
		})
	}
}

// A request that contradicts itself changes nothing, and its error says what
// would be valid.
func TestNetworkFaultsRefuse(t *testing.T) {
	link := func(t Target) Target {
		t.Asked, t.Link = "node-1>node-2", &Link{Near: Side{Nodes: t.Nodes[:1]}, Far: Side{Nodes: t.Peers[:1]}, OneWay: true}
		return t
	}
	tests := []struct {
		typ    string
		params map[string]any
		nodes  []int
		of     int
		bend   func(Target) Target
		want   string
	}{
		{"partition", map[string]any{"shape": "ring"}, []int{1}, 3, nil, "a neighbour of everybody"},
		{"partition", map[string]any{"shape": "bridge"}, []int{1, 2}, 5, nil, "a bridge is one node"},
		{"partition", map[string]any{"shape": "bridge"}, []int{1}, 2, nil, "cuts nothing"},
		{"partition", map[string]any{"shape": "minority"}, []int{1, 2}, 3, nil, "more than fit"},
		{"partition", map[string]any{"shape": "halves", "with": "clients"}, []int{1}, 4, nil, "leave with out"},
		{"partition", map[string]any{"shape": "halves"}, []int{1}, 4, link, "node-1>node-2 is a link"},
		{"partition", nil, []int{1, 2, 3}, 3, nil, "set with to clients"},
		{"partition", nil, []int{1}, 1, nil, "set with to clients"},
		{"loss", map[string]any{"direction": "in"}, []int{1}, 3, link, "contradicts"},
		{"loss", map[string]any{"with": "nodes"}, []int{1}, 1, nil, "set with to clients"},
		{"unreachable", nil, []int{1}, 3, func(t Target) Target {
			t.Asked, t.Link = "clients~node-1", &Link{Near: Side{Clients: true}, Far: Side{Nodes: t.Nodes}}
			return t
		}, "routes of nodes"},
	}
	for _, test := range tests {
		net := &fakeNet{}
		r, on := netRig(test.of, net)
		req, err := Parse(test.typ, test.params)
		if err != nil {
			t.Fatal(err)
		}
		target := on(test.nodes...)
		if test.bend != nil {
			target = test.bend(target)
		}
		l, err := r.Inject(t.Context(), req, target)
		if err == nil || !strings.Contains(err.Error(), test.want) || len(net.rules) > 0 {
			t.Errorf("%s %v of %v: %v, want %q; rules %v", test.typ, test.params, test.nodes, err, test.want, net.rules)
		}
		if l.State == history.Landed || l.Healed != history.HealVerified {
			t.Errorf("%s %v: %s, healed %s", test.typ, test.params, l.State, l.Healed)
		}
	}
}

// Loss is of every link of a target, those among its own nodes too.
func TestLinksOfAll(t *testing.T) {
	r, on := netRig(3, &fakeNet{})
	links, err := on(1, 2, 3).links("nodes", "both")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pairs(&fakeNet{}, links)
	if err != nil || len(got) != 6 {
		t.Errorf("%v, %v; want the six directions among %d nodes", got, err, len(r.nodes))
	}
}

func TestCheckTarget(t *testing.T) {
	for _, test := range []struct{ typ, target, want string }{
		{"partition", "leader", ""},
		{"partition", "leader~clients", ""},
		{"loss", "node-1>node-2", ""},
		{"kill", "leader", ""},
		{"kill", "leader~clients", "kill acts on nodes"},
		{"partition", "leader~witness", "the witness is the control"},
		{"partition", "leader~", "two sides"},
		{"partition", "a~b~c", "two sides"},
		{"partition", "node-1>node-2>node-3", "two sides"},
		{"partition", "node-1~node-1", "both sides are the same"},
	} {
		err := CheckTarget(test.typ, test.target)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s on %s: %v, want %q", test.typ, test.target, err, test.want)
		}
	}
}

// A host that cannot be asked tells nothing of the network.
func TestAgentAway(t *testing.T) {
	if s := failed(errors.Join(errors.New("ping node-1"), router.ErrAgent)); !s.Ours {
		t.Errorf("%+v", s)
	}
	if s := failed(errors.New("none of 5 arrived")); s.Ours {
		t.Errorf("%+v", s)
	}
}

// Chaos Mesh injects one fault at a time at a pod, and not every treatment.
func TestInjectorRefuses(t *testing.T) { synctest.Test(t, testInjectorRefuses) }

func testInjectorRefuses(t *testing.T) {
	net := &fakeNet{}
	r, on := netRig(5, net)
	var placed []string
	inject := func(typ string, params map[string]any, nodes ...int) error {
		t.Helper()
		req, err := Parse(typ, params)
		if err != nil {
			t.Fatal(err)
		}
		target := on(nodes...)
		target.Site.Injector = &fakeInjector{net: net}
		target.Link = &Link{Near: Side{Nodes: target.Nodes[:1]}, Far: Side{Nodes: target.Nodes[1:]}}
		l, err := r.Inject(t.Context(), req, target)
		if err == nil {
			placed = append(placed, l.Fault)
		}
		return err
	}
	if err := inject("partition", map[string]any{"duration_s": 60.0}, 1, 2); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		typ    string
		params map[string]any
		nodes  []int
		want   string
	}{
		{"partition", nil, []int{2, 3}, "one fault at a time at node-2, and f1 is there"},
		{"partition", nil, []int{3, 4}, ""},
	} {
		err := inject(test.typ, test.params, test.nodes...)
		if refused := errors.Is(err, ErrUnsupported); refused != (test.want != "") || refused && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s of %v: %v, want %q", test.typ, test.nodes, err, test.want)
		}
	}
	for _, fault := range placed {
		if _, err := r.Wait(t.Context(), fault); err != nil {
			t.Error(err)
		}
	}
}

// A queue that an injector fills says nothing of what it drops, and cannot be asked.
func TestTreatedByAnInjector(t *testing.T) {
	net := &fakeNet{}
	_, on := netRig(3, net)
	target := on(1)
	target.Site.Injector, target.Site.Queues = &fakeInjector{net: net}, noQueues{}
	for _, test := range []struct {
		f    Fault
		want string
	}{
		{Loss{Percent: 10, Burst: 4, Bad: 100, With: "nodes", Direction: "both"}, "has no bursts"},
		{Loss{Percent: 10, With: "nodes", Direction: "both"}, ""},
		{Delay{By: time.Second, With: "nodes", Direction: "both"}, ""},
	} {
		in, err := test.f.Plan(t.Context(), target)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.f, err, test.want)
		}
		if err != nil {
			continue
		}
		for _, p := range in.Proofs {
			if strings.Contains(p.Name, "queue") {
				t.Errorf("%+v: proof %q", test.f, p.Name)
			}
		}
		named := func(c Check) bool { return strings.Contains(c.Name, "chaos-mesh") }
		if in.Mechanism != "chaos-mesh" || !slices.ContainsFunc(in.Healed, named) {
			t.Errorf("%+v: by %s, read back by %v", test.f, in.Mechanism, in.Healed)
		}
	}
}

// noQueues are queues that nothing may ask.
type noQueues struct{ Queues }
