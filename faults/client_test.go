package faults

import (
	"context"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/tap"
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
	c := crowd{
		nodes: map[string]Node{"node-1": node},
		conns: []tap.Connection{{Node: "node-1", Peer: "a:1"}, {Node: "node-1", Peer: "a:2"}},
		over:  &endings{has: map[tap.Connection]bool{}},
	}
	ended := c.ended()
	for _, step := range []struct {
		shows map[string]int64
		want  string
	}{
		{map[string]int64{"a:1": 0, "a:2": 0}, "established"},
		{map[string]int64{"a:1": 0}, "1 of 2 ended"},
		{map[string]int64{"a:2": 0}, allEnded},
		{map[string]int64{"a:1": 0, "a:2": 0}, allEnded},
	} {
		node.shows = step.shows
		if got := ended.Read(t.Context()).State; got != step.want {
			t.Errorf("with %v: %q, expected %q", step.shows, got, step.want)
		}
	}
}
