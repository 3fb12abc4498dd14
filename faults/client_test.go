package faults

import (
	"context"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// kernel is a node whose kernel shows some connections.
type kernel struct {
	Node
	shows map[string]int64
}

func (k *kernel) Sockets(context.Context) (map[string]int64, error) { return k.shows, nil }

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
