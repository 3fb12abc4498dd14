package cluster

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/robustmq/rmq-mcp/history"
)

func TestReference(t *testing.T) {
	ctx, c := startCluster(t, Config{Nodes: 3})
	if got := len(c.Endpoints("")); got != 3 {
		t.Fatalf("%d endpoints, want 3", got)
	}
	leaders, err := c.Resolve(ctx, "leader", "any/topic")
	if err != nil {
		t.Fatal(err)
	}
	leader := leaders[0]
	followers, err := c.Resolve(ctx, "follower", "any/topic")
	if err != nil {
		t.Fatal(err)
	}
	if followers[0] == leader {
		t.Errorf("%s is leader and follower", leader.Name())
	}
	checkViews(t, ctx, c, leader)
	checkFigures(t, ctx, leader, "nats_jetstream_streams", "process_memory_bytes")

	t.Run("killed", func(t *testing.T) {
		set(t, ctx, leader, "killed")
		wantState(t, leader, history.StateKilled)
		if serves(ctx, leader) {
			t.Errorf("%s answers after it was killed", leader.Name())
		}
		next, err := c.Resolve(ctx, "leader", "any/topic")
		if err != nil {
			t.Fatal(err)
		}
		if next[0] == leader {
			t.Errorf("%s leads although it is dead", leader.Name())
		}
		old := leader.PID()
		set(t, ctx, leader, "running")
		wantState(t, leader, history.StateRunning)
		if leader.PID() == old || !serves(ctx, leader) {
			t.Errorf("%s was not started again", leader.Name())
		}
	})
	t.Run("frozen", func(t *testing.T) {
		n := c.Nodes()[1]
		set(t, ctx, n, "frozen")
		wantState(t, n, history.StateFrozen)
		if serves(ctx, n) {
			t.Errorf("%s answers while it is frozen", n.Name())
		}
		set(t, ctx, n, "running")
		wantState(t, n, history.StateRunning)
	})
	t.Run("stopped", func(t *testing.T) {
		n := c.Nodes()[2]
		set(t, ctx, n, "frozen")
		set(t, ctx, n, "stopped")
		wantState(t, n, "exited: status 0")
		if err := n.Set(ctx, "frozen"); err == nil {
			t.Error("a node that ended was frozen")
		}
		set(t, ctx, n, "running")
		log, err := os.ReadFile(n.LogPath())
		if err != nil || !strings.Contains(string(log), "started again") {
			t.Errorf("the log of %s has no line between its two lives (%v)", n.Name(), err)
		}
	})
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
	for _, n := range c.Nodes() {
		wantState(t, n, "exited: status 0")
	}
}

func checkViews(t *testing.T, ctx context.Context, c *Cluster, leader *Node) {
	t.Helper()
	want := map[string][]string{}
	for _, n := range c.Nodes() {
		want[n.Name()] = []string{"follower"}
	}
	want[leader.Name()] = []string{"leader"}
	if diff := cmp.Diff(want, c.Views(ctx)); diff != "" {
		t.Errorf("views (-want +got):\n%s", diff)
	}
}
