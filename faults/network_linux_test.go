package faults

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

const client = "publishers-0"

// Every shape, on real links with traffic of the test's own: what is cut, and
// nothing else, and the landing says so.
func TestPartitionShapes(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 4)
	hosts := []string{"node-1", "node-2", "node-3", "node-4", client}
	streams := l.traffic(t, hosts...)
	link := func(near, far Side, oneWay bool) Target {
		target := l.on(1, 2)
		target.Link = &Link{Near: near, Far: far, OneWay: oneWay}
		return target
	}
	one, two := Side{Nodes: []Node{l.nodes[0]}}, Side{Nodes: []Node{l.nodes[1]}}
	tests := []struct {
		name   string
		params map[string]any
		target Target
		cut    string // both ways where not said otherwise
	}{
		{"a node", nil, l.on(2), "2-1 2-3 2-4"},
		{"a node, refusing", map[string]any{"mode": "reject"}, l.on(2), "2-1 2-3 2-4"},
		{"a node from clients", map[string]any{"with": "clients"}, l.on(2), "2-c"},
		{"a node from all", map[string]any{"with": "all"}, l.on(2), "2-1 2-3 2-4 2-c"},
		{"two nodes together", nil, l.on(2, 3), "2-1 2-4 3-1 3-4"},
		{"halves", map[string]any{"shape": "halves"}, l.on(4), "4-2 4-3 1-2 1-3"},
		{"in a majority", map[string]any{"shape": "majority"}, l.on(4), "4-3 1-3 2-3"},
		{"in a minority", map[string]any{"shape": "minority"}, l.on(4), "4-1 4-2 4-3"},
		{"bridge", map[string]any{"shape": "bridge"}, l.on(4), "1-2 1-3"},
		{"ring", map[string]any{"shape": "ring"}, l.on(4), "1-3 2-4"},
		{"one way", map[string]any{"shape": "one_way"}, l.on(2), "2>1 2>3 2>4"},
		{"a link", nil, link(one, two, false), "1-2"},
		{"a link one way", nil, link(one, two, true), "1>2"},
		{"clients to a node", nil, link(Side{Clients: true}, two, true), "c>2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			landing := l.heldFor(t, "partition", test.params, test.target, func() { got = cut(streams) })
			if diff := cmp.Diff(directions(test.cut), slices.Sorted(slices.Values(got))); diff != "" {
				t.Errorf("cut (-want +got):\n%s", diff)
			}
			if landing.State != history.Landed {
				t.Errorf("%s %q", landing.State, landing.Reasons)
			}
			if left := cut(streams); len(left) > 0 {
				t.Errorf("still cut after the heal: %s", left)
			}
		})
	}
}

// directions reads 1-2 and 1>c.
func directions(text string) []string {
	name := func(s string) string {
		if s == "c" {
			return client
		}
		return "node-" + s
	}
	var out []string
	for _, f := range strings.Fields(text) {
		a, b := name(f[:1]), name(f[2:])
		out = append(out, a+">"+b)
		if f[1] == '-' {
			out = append(out, b+">"+a)
		}
	}
	slices.Sort(out)
	return out
}

// A fault that hits no traffic of the system is never landed, however well it
// is in place.
func TestNetworkWithoutTraffic(t *testing.T) {
	hosttest.Long(t, "proofs wait for traffic")
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 3)
	l.traffic(t, "node-2", "node-3") // elsewhere
	for _, typ := range []string{"partition", "unreachable", "reset", "loss"} {
		t.Run(typ, func(t *testing.T) {
			landing := l.heldFor(t, typ, map[string]any{"duration_s": 0.5}, l.on(1), func() {})
			if landing.State != history.NotLanded {
				t.Errorf("%s %q, want not landed", landing.State, landing.Reasons)
			}
		})
	}
}

// Something else happens at the same time: another node's cable comes off.
func TestPartitionWithDisturbedControl(t *testing.T) {
	hosttest.Long(t, "heals wait for what is disturbed")
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 3)
	l.traffic(t, "node-1", "node-2", "node-3")
	r, err := Parse("partition", nil)
	if err != nil {
		t.Fatal(err)
	}
	landing, err := l.Inject(t.Context(), r, l.on(1))
	if err != nil || landing.State != history.Landed {
		t.Fatalf("%s %q, %v", landing.State, landing.Reasons, err)
	}
	h := l.Host(t, "node-3")
	if err := netns.In(h.NetNS(), func() error { return setDown("eth0") }); err != nil {
		t.Fatal(err)
	}
	landing, _ = l.Heal(t.Context(), landing.Fault)
	if landing.State != history.Indeterminate || !strings.Contains(strings.Join(landing.Reasons, " "), "witness to node-3") {
		t.Errorf("%s %q, want indeterminate because of node-3", landing.State, landing.Reasons)
	}
}

// Two partitions that share a link, healed in either order: each is proved, and
// each heal is verified although the other one still cuts.
func TestPartitionsOverlap(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 4)
	streams := l.traffic(t, "node-1", "node-2", "node-3", "node-4")
	left := map[int]string{0: "2-1 2-3 2-4", 1: "1-2 1-3 1-4"}
	for first := range 2 {
		var ids []string
		for _, node := range []int{1, 2} {
			r, err := Parse("partition", map[string]any{"duration_s": 60})
			if err != nil {
				t.Fatal(err)
			}
			landing, err := l.Inject(t.Context(), r, l.on(node))
			if err != nil || landing.State != history.Landed {
				t.Fatalf("%s %q, %v", landing.State, landing.Reasons, err)
			}
			ids = append(ids, landing.Fault)
		}
		if diff := cmp.Diff(directions("1-2 1-3 1-4 2-3 2-4"), slices.Sorted(slices.Values(cut(streams)))); diff != "" {
			t.Errorf("both (-want +got):\n%s", diff)
		}
		if landing, err := l.Heal(t.Context(), ids[first]); err != nil || landing.Healed != history.HealVerified {
			t.Errorf("%s, %v", landing.Healed, err)
		}
		if diff := cmp.Diff(directions(left[first]), slices.Sorted(slices.Values(cut(streams)))); diff != "" {
			t.Errorf("the other one (-want +got):\n%s", diff)
		}
		if err := l.HealAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		if still := cut(streams); len(still) > 0 {
			t.Errorf("still cut: %s", still)
		}
	}
	for _, landing := range l.Landings() {
		if landing.State != history.Landed || landing.Healed != history.HealVerified {
			t.Errorf("%s: %s %q, healed %s", landing.Fault, landing.State, landing.Reasons, landing.Healed)
		}
	}
}

func TestLossLands(t *testing.T) {
	hosttest.Long(t, "it counts what is lost")
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 3)
	streams := l.traffic(t, "node-1", "node-2", client)
	for _, test := range []struct {
		params map[string]any
		clear  string // a direction on which nothing is lost
	}{
		{map[string]any{"percent": 10}, ""},
		{map[string]any{"percent": 50, "direction": "out"}, "node-2"},
	} {
		landing := l.heldFor(t, "loss", test.params, l.on(1), func() {
			if got := cut(streams); len(got) > 0 {
				t.Errorf("cut altogether: %s", got)
			}
			if test.clear != "" {
				p, err := l.Ping(t.Context(), router.Ping{From: test.clear, To: "node-1", Count: 100})
				if err != nil || p.Arrived != 100 {
					t.Errorf("the other direction: %+v, %v", p, err)
				}
			}
		})
		if landing.State != history.Landed {
			t.Errorf("%v: %s %q", test.params, landing.State, landing.Reasons)
		}
	}
}

// Connections of the system, one that is hit and one that is not.
func TestConnectionFaultsLand(t *testing.T) {
	t.Parallel()
	if !hosttest.Inside(t) {
		return
	}
	l := newNetLab(t, 3)
	for _, typ := range []string{"reset", "unreachable"} {
		t.Run(typ, func(t *testing.T) {
			for _, p := range []pair{{"node-1", "node-2"}, {"node-2", "node-3"}} {
				l.talk(t, p)
			}
			landing := l.heldFor(t, typ, map[string]any{"duration_s": 2}, l.on(1), func() {})
			if landing.State != history.Landed {
				t.Errorf("%s %q", landing.State, landing.Reasons)
			}
		})
	}
}

// talk connects one host to another and keeps talking, over a new connection
// where the old one ended.
func (l *netLab) talk(t *testing.T, p pair) {
	t.Helper()
	i := slices.IndexFunc(l.nodes, func(n *netNode) bool { return n.name == p.to })
	dial := func() (c net.Conn, err error) {
		err = netns.In(l.Host(t, p.from).NetNS(), func() (err error) {
			c, err = net.DialTimeout("tcp4", l.nodes[i].at, time.Second)
			return err
		})
		return c, err
	}
	c, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				if c != nil {
					c.Close()
				}
				return
			case <-time.After(5 * time.Millisecond):
			}
			if c == nil {
				c, _ = dial()
				continue
			}
			c.SetDeadline(time.Now().Add(100 * time.Millisecond))
			if _, err := c.Write([]byte("x")); err == nil {
				_, err = c.Read(make([]byte, 1))
				if err == nil || strings.Contains(err.Error(), "timeout") {
					continue
				}
			}
			c.Close()
			c = nil
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
}
