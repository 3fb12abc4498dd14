package netqueue_test

import (
	"testing"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/routertest"
)

// A lab is three hosts and the router between them.
type lab struct{ *routertest.Star }

func newLab(t testing.TB) *lab {
	t.Helper()
	l := &lab{routertest.New(t, "node-1", "node-2", "witness")}
	if missing := l.Missing(router.Queue); missing != "" {
		hosttest.Skip(t, missing)
	}
	return l
}

// treat queues what node-1 sends to node-2, and opens the queue.
func (l *lab) treat(t testing.TB, treatment netqueue.Treatment) *netqueue.Queue {
	t.Helper()
	n, err := l.Queue()
	if err != nil {
		t.Fatal(err)
	}
	// Probes are as good as any other packets here: none is counted apart.
	q, err := netqueue.Open(netqueue.Options{Queue: n, Treatment: treatment})
	if err != nil {
		t.Fatal(err)
	}
	err = l.Render(t.Context(), []router.Rule{{
		Fault: "f1", Do: router.Queue, Queue: n,
		Links: []router.Link{{From: []string{"node-1"}, To: []string{"node-2"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// ping sends probes over the treated way.
func (l *lab) ping(t testing.TB, count int) router.Pings {
	t.Helper()
	p, err := l.Ping(t.Context(), router.Ping{
		From: "node-1", To: "node-2", Count: count, Interval: 200_000, Wait: 300_000_000, Linger: 20_000_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
