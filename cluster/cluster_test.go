package cluster

import (
	"context"
	"reflect"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// testBound is for one test's whole cluster, on a busy machine.
const testBound = 5 * hosttest.Bound

// startCluster starts one on loopback and ends it with the test.
func startCluster(t *testing.T, config Config) (context.Context, *Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testBound)
	t.Cleanup(cancel)
	c, err := Start(ctx, optionsFor(t, config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	wantEffective(t, config, c)
	return ctx, c
}

// wantEffective wants what a cluster says of its configuration to be what was
// said of it before.
func wantEffective(t *testing.T, config Config, c *Cluster) {
	t.Helper()
	config.Nodes = c.Info().Nodes
	before, err := Effective(config)
	if err != nil {
		t.Fatal(err)
	}
	if config.Flavor != "external" && !reflect.DeepEqual(before, c.Info().Config) {
		t.Errorf("effective configuration is %v, before it was %v", c.Info().Config, before)
	}
}

func optionsFor(t *testing.T, config Config) Options {
	t.Helper()
	network := NewLoopback("")
	t.Cleanup(func() { network.Close() })
	return Options{Config: config, Network: network, Dir: t.TempDir(), Self: self(t), Program: self(t)[:1], Seed: 1, Progress: func(s string) { t.Log(s) }}
}

func set(t *testing.T, ctx context.Context, n *Node, want string) {
	t.Helper()
	if err := n.Set(ctx, want); err != nil {
		t.Fatal(err)
	}
}

func wantState(t *testing.T, n *Node, want string) {
	t.Helper()
	got, err := n.State(context.Background())
	if err != nil || got != want {
		t.Errorf("state of %s is %q (%v), want %q", n.Name(), got, err, want)
	}
}

func serves(ctx context.Context, n *Node) bool {
	_, err := n.Probe(ctx)
	return err == nil
}

func checkFigures(t *testing.T, ctx context.Context, n *Node, names ...string) {
	t.Helper()
	figures, err := n.Metrics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if figures[name] <= 0 {
			t.Errorf("%s of %s is %v, want more", name, n.Name(), figures[name])
		}
	}
}
