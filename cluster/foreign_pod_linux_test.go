package cluster

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/kubetest"
)

// noLedger is of a test that ends all it makes.
type noLedger struct{}

func (noLedger) Making(string, string, any) error { return nil }
func (noLedger) Gone(string, string) error        { return nil }

// A theirPod is a broker in pod rmq-theirs/node-1-1, which belongs to another team.
type theirPod struct {
	*kubetest.Server
	endpoints []string
}

func startTheirs(ctx context.Context, t *testing.T) theirPod {
	t.Helper()
	s := kubetest.New(t, os.Args[0])
	t.Setenv("KUBECONFIG", s.Kubeconfig)
	t.Setenv(PodsImageEnv, "rmq-mcp:1")
	c, err := Start(ctx, Options{
		Config: Config{Nodes: 1, Runtime: RuntimePods}, Network: NewLoopback("host"), Dir: t.TempDir(), Self: self(t), Run: "theirs", Ledger: noLedger{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(context.Background()) })
	s.Keep("rmq-theirs", "node-1-1")
	return theirPod{s, c.Endpoints("")}
}

// adopt is the options of a run on a pod of theirs.
func (p theirPod) adopt(t *testing.T, run, pod string) Options {
	return Options{
		Config:  Config{Flavor: "external", Endpoints: p.endpoints, Pods: []string{pod}},
		Network: NewLoopback("host"), Dir: t.TempDir(), Self: self(t), Run: run, Ledger: noLedger{},
	}
}

// A run is told that another one took its pod.
func TestForeignPodLost(t *testing.T) {
	hosttest.Long(t, "a lease is renewed every eight seconds")
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Bound)
	defer cancel()
	s := startTheirs(ctx, t)
	opts, lost := s.adopt(t, "first", "rmq-theirs/node-1-1"), make(chan error, 1)
	opts.Lost = func(err error) { lost <- err }
	c, err := Start(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Stop(context.Background()) })
	s.Change("leases", "rmq-theirs", "rmq-mcp-node-1-1", map[string]any{"spec": map[string]any{"holderIdentity": "host-2, run second"}})
	select {
	case err := <-lost:
		if !errors.Is(err, kube.ErrHeld) || !strings.Contains(err.Error(), "host-2, run second") {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Error("the run is not told")
	}
}

// A pod that somebody else made is restarted by its controller, and nothing else is done to it.
// An end that somebody else asked for is not the broker's.
func TestForeignPod(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Bound)
	defer cancel()
	s := startTheirs(ctx, t)
	start := func(run, pod string) (*Cluster, error) { return Start(ctx, s.adopt(t, run, pod)) }
	if _, err := start("first", "rmq-theirs/node-9"); err == nil || !strings.Contains(err.Error(), "find pod node-9 of namespace rmq-theirs") {
		t.Errorf("a pod that does not exist: %v", err)
	}
	c, err := start("first", "rmq-theirs/node-1-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := start("second", "rmq-theirs/node-1-1"); !errors.Is(err, kube.ErrHeld) || !strings.Contains(err.Error(), ", run first; wait for its end") {
		t.Errorf("a second run on the same pod: %v", err)
	}
	n := c.Nodes()[0]
	exits := make(chan Exit, 9)
	watched, unwatch := context.WithCancel(ctx)
	defer unwatch()
	go n.Exits(watched, func(e Exit) { exits <- e })
	for _, want := range []string{history.EndKilled, history.StateFrozen, history.EndStopped} {
		if err := n.Can(want); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "rolling_restart") {
			t.Errorf("it can be %s: %v", want, err)
		}
	}
	if err := n.Can(history.EndRestarted); err != nil {
		t.Errorf("it cannot be restarted: %v", err)
	}
	before, err := n.Process()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Set(ctx, history.EndStopped); err != nil {
		t.Fatal(err)
	}
	if err := n.Set(ctx, history.StateRunning); err != nil {
		t.Fatal(err)
	}
	if after, err := n.Process(); err != nil || after == before {
		t.Errorf("%s before and %s after its restart, %v", before, after, err)
	}
	if e := <-exits; !e.Asked || !strings.HasPrefix(e.State, history.StateExited+"status") {
		t.Errorf("the end that we asked for: %+v", e)
	}
	s.Evict("rmq-theirs", "node-1-1")
	if e := <-exits; e.Asked || e.State != history.StateExited+"somebody deleted its pod" {
		t.Errorf("the end that somebody else asked for: %+v", e)
	}
	for state := ""; state != history.StateRunning; time.Sleep(5 * time.Millisecond) {
		if state, err = n.State(ctx); ctx.Err() != nil {
			t.Fatalf("it is %q, %v", state, err)
		}
	}
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
	if left := strings.Join(s.Names("leases"), " "); strings.Contains(left, "node-1-1") {
		t.Errorf("its lease is left: %s", left)
	}
	if state, err := n.State(ctx); err != nil || state != history.StateRunning {
		t.Errorf("after the stop of what is not ours it is %s, %v", state, err)
	}
}
