package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"testing/synctest"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// kernel is a node whose kernel shows some connections.
type kernel struct {
	Node
	shows map[string]int64
	asked int
}

func (k *kernel) Sockets(context.Context) (map[string]int64, error) { k.asked++; return k.shows, nil }

// A plan asks each kernel once, however many connections a crowd has there: a thousand looks
// would hold up the fault.
func TestEachKernelIsAskedOnce(t *testing.T) {
	nodes := map[string]Node{"node-1": &kernel{}, "node-2": &kernel{}}
	c := crowd{nodes: nodes, clients: said{}}
	for i := range 1000 {
		c.conns = append(c.conns, tap.Connection{Node: fmt.Sprint("node-", 1+i%2), Peer: fmt.Sprint("a:", i)})
	}
	c.ended()
	for name, n := range nodes {
		if asked := n.(*kernel).asked; asked != 1 {
			t.Errorf("%s was asked %d times", name, asked)
		}
	}
}

// A connection that ended stays so, though another one has its address.
func TestConnectionsEndOnce(t *testing.T) {
	node := &kernel{shows: map[string]int64{"a:1": 0, "a:2": 0}}
	one, two := tap.Connection{Node: "node-1", Peer: "a:1"}, tap.Connection{Node: "node-1", Peer: "a:2"}
	held := []tap.Connection{one, two}
	c := crowd{
		nodes: map[string]Node{"node-1": node},
		conns: []tap.Connection{one, two}, open: func() []tap.Connection { return held },
		over: &endings{has: map[tap.Connection]bool{}},
	}
	ended := c.ended()
	for _, step := range []struct {
		shows map[string]int64
		held  []tap.Connection
		want  string
	}{
		{map[string]int64{"a:1": 0, "a:2": 0}, []tap.Connection{one, two}, "established"},
		{map[string]int64{"a:1": 0}, []tap.Connection{one, two}, "1 of 2 ended"}, // what the kernel shows is not of one moment
		{map[string]int64{"a:1": 0, "a:2": 0}, []tap.Connection{one, two}, "established"},
		{map[string]int64{"a:1": 0}, []tap.Connection{one}, "1 of 2 ended"},
		{map[string]int64{"a:2": 0}, nil, allEnded},
		{map[string]int64{"a:1": 0, "a:2": 0}, nil, allEnded},
	} {
		node.shows, held = step.shows, step.held
		if got := ended.Read(t.Context()).State; got != step.want {
			t.Errorf("with %v: %q, expected %q", step.shows, got, step.want)
		}
	}
}

// elsewhere is a node whose kernel cannot be asked.
type elsewhere struct{ Node }

func (elsewhere) Sockets(context.Context) (map[string]int64, error) {
	return nil, fmt.Errorf("it was not started by us: %w", errors.ErrUnsupported)
}

// said are clients that say how many of their connections have ended.
type said struct {
	Clients
	ended map[string]int
}

func (s said) Ended([]string) map[string]int { return maps.Clone(s.ended) }

// onlineNow are the clients that say that they are connected.
type onlineNow struct {
	Clients
	ids map[string]bool
}

func (o onlineNow) Connected(ids []string) (n int) {
	for _, id := range ids {
		if o.ids[id] {
			n++
		}
	}
	return n
}

// Bytes on their way wait for nobody; those that a reader leaves are there at each look.
func TestBytesThatWait(t *testing.T) {
	conn := tap.Connection{Node: "node-1", Client: "a", Peer: "198.18.0.9:1"}
	for _, test := range []struct {
		name string
		left []int64 // at each look
		want history.LandingState
	}{
		{"on their way", []int64{9000, 0, 4000, 9000, 9000}, history.NotLanded},
		{"a message or two", []int64{300, 300, 300, 300, 300}, history.NotLanded},
		{"left by the reader", []int64{90000, 90500, 91000, 91500, 92000}, history.Landed},
	} {
		synctest.Test(t, func(t *testing.T) {
			k := &passingBy{left: test.left}
			c := crowd{nodes: map[string]Node{"node-1": k}, conns: []tap.Connection{conn},
				open: func() []tap.Connection { return []tap.Connection{conn} }, over: &endings{has: map[tap.Connection]bool{}}}
			p := c.pilesUp()
			s := p.Read(t.Context())
			if landed := s.Value >= p.Margin; !s.OK || landed != (test.want == history.Landed) {
				t.Errorf("%s: %+v", test.name, s)
			}
			k.ended = true // as a broker does to clients that are too slow
			if last := p.Read(t.Context()); !last.OK || last.Value != s.Value {
				t.Errorf("%s, and then ended: %+v", test.name, last)
			}
		})
	}
}

// A crowd is read slowly if bytes have waited in most of its connections.
func TestBytesThatWaitInMost(t *testing.T) {
	all := []tap.Connection{{Node: "node-1", Client: "a", Peer: "1"}, {Node: "node-1", Client: "b", Peer: "2"}, {Node: "node-1", Client: "c", Peer: "3"}}
	for _, test := range []struct {
		waits map[string]int64
		want  bool
	}{
		{map[string]int64{"1": 90000, "2": 0, "3": 0}, false},
		{map[string]int64{"1": 90000, "2": 300, "3": 300}, false},
		{map[string]int64{"1": 90000, "2": 2000, "3": 0}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := crowd{nodes: map[string]Node{"node-1": waitingNode{waits: test.waits}}, conns: all,
				open: func() []tap.Connection { return all }, over: &endings{has: map[tap.Connection]bool{}}}
			if p := c.pileUpInMost(); (p.Read(t.Context()).Value >= p.Margin) != test.want {
				t.Errorf("%v: margin %v", test.waits, p.Margin)
			}
		})
	}
}

// A waitingNode is a node whose kernel shows how much waits, by the client's address.
type waitingNode struct {
	*fakeNode
	waits map[string]int64
}

func (n waitingNode) Sockets(context.Context) (map[string]int64, error) { return n.waits, nil }

// passingBy is a node whose kernel shows other bytes at each look.
type passingBy struct {
	*fakeNode
	left  []int64
	ended bool
}

func (k *passingBy) Sockets(context.Context) (map[string]int64, error) {
	if k.ended {
		return nil, nil
	}
	n := k.left[0]
	k.left = append(k.left[1:], n)
	return map[string]int64{"198.18.0.9:1": n}, nil
}

// Clients say whether the connections ended that they had when the fault was planned,
// if the kernel of their node cannot be asked.
func TestConnectionsToANodeElsewhere(t *testing.T) {
	clients := said{ended: map[string]int{"a": 2, "b": 0}}
	c := crowd{nodes: map[string]Node{"node-1": elsewhere{}}, conns: []tap.Connection{{Node: "node-1", Client: "a"}, {Node: "node-1", Client: "b"}}, clients: clients,
		open: func() []tap.Connection { return nil }, over: &endings{has: map[tap.Connection]bool{}}}
	ended := c.ended()
	for _, step := range []struct {
		a, b int
		want string
	}{{2, 0, "established"}, {3, 0, "1 of 2 ended"}, {3, 1, allEnded}, {7, 2, allEnded}} {
		clients.ended["a"], clients.ended["b"] = step.a, step.b
		if got := ended.Read(t.Context()); got.State != step.want || !got.OK {
			t.Errorf("%+v: %+v", step, got)
		}
	}
	both, half, away := c.conns, []tap.Connection(nil), onlineNow{ids: map[string]bool{"a": true, "b": true}}
	c.halves = func() []tap.Connection { return half }
	c.open = func() []tap.Connection { return both }
	open := c.halfOpen(away)
	if got := open.Read(t.Context()).State; got == open.Expect {
		t.Errorf("both ends are open: %q", got)
	}
	both = nil
	clear(away.ids)
	if got := open.Read(t.Context()).State; got == open.Expect {
		t.Errorf("both ends are gone: %q", got)
	}
	half = c.conns
	if got := open.Read(t.Context()); got.State != open.Expect || !got.OK {
		t.Errorf("the client's end is gone, the node's is not: %+v", got)
	}
	shut := int64(0)
	c.shut = func() (int64, error) { return shut, nil }
	piles := c.pilesUp()
	idle := piles.Read(t.Context())
	shut = 2
	if slow := piles.Read(t.Context()); !idle.OK || idle.Value != 0 || !slow.OK || slow.Value != 2 {
		t.Errorf("idle %+v, slow %+v", idle, slow)
	}
	if c.clients = nil; c.ended().Expect != allEnded || c.ended().Read(t.Context()).Error == "" {
		t.Error("without clients the kernel is asked, and its error shown")
	}
}
