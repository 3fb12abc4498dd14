package experiment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/faults"
)

// A fakeGround is brokers that are nothing but their states.
type fakeGround struct {
	all     []*fakeNode
	witness *fakeNode
	leads   string // the leader; "" if they do not say
}

func newFakeGround(nodes int) *fakeGround {
	g := &fakeGround{witness: &fakeNode{name: "witness", state: faults.Running}, leads: "node-1"}
	for i := range nodes {
		g.all = append(g.all, &fakeNode{name: fmt.Sprintf("node-%d", i+1), state: faults.Running})
	}
	return g
}

func (g *fakeGround) nodes() (out []faults.Node) {
	for _, n := range g.all {
		out = append(out, n)
	}
	return out
}

func (g *fakeGround) resolve(_ context.Context, role, _ string) ([]faults.Node, error) {
	switch {
	case role == "all":
		return g.nodes(), nil
	case role == "leader" && g.leads == "":
		return nil, fmt.Errorf("ask who leads: %w", errors.ErrUnsupported)
	case role == "leader":
		role = g.leads
	}
	for _, n := range g.all {
		if n.name == role {
			return []faults.Node{n}, nil
		}
	}
	return nil, fmt.Errorf("no node %q", role)
}

func (g *fakeGround) control() faults.Node        { return g.witness }
func (g *fakeGround) site() faults.Site           { return faults.Site{Run: "r1"} }
func (g *fakeGround) restartBound() time.Duration { return time.Second }

func (g *fakeGround) indexOf(node string) int16 {
	for i, n := range g.all {
		if n.name == node {
			return int16(i)
		}
	}
	return -1
}

func (g *fakeGround) layer(name string) (faults.Layer, error) {
	for _, n := range g.all {
		if name == "process/"+n.name {
			return faults.NewProcessLayer(n), nil
		}
	}
	return nil, fmt.Errorf("no layer %q", name)
}

type fakeNode struct {
	name  string
	stuck error // of a process that cannot be brought into another state
	dead  bool  // once it has ended it does not start again

	mu    sync.Mutex
	state string
}

func (n *fakeNode) Name() string { return n.name }

func (n *fakeNode) State(context.Context) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state, nil
}

func (n *fakeNode) Probe(context.Context) (time.Duration, error) {
	if state, _ := n.State(context.Background()); state != faults.Running {
		return 0, fmt.Errorf("%s is %s", n.name, state)
	}
	return time.Millisecond, nil
}

func (n *fakeNode) Set(_ context.Context, want string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.stuck != nil && want == faults.Running:
		return n.stuck
	case n.dead && want == faults.Running && n.state != faults.Frozen:
	case want == faults.Killed:
		n.state = "exited: signal 9 (killed)"
	default:
		n.state = want
	}
	return nil
}

// fakeCrowd is no clients.
type fakeCrowd struct{}

func (fakeCrowd) Driver(name string) (faults.Driver, error) {
	return nil, fmt.Errorf("no driver %q", name)
}
func (fakeCrowd) Connected([]string) int        { return 0 }
func (fakeCrowd) Ended([]string) map[string]int { return nil }
func (fakeCrowd) clientTarget(string) ([]faults.Client, error) {
	return nil, errors.New("no client runs now")
}
