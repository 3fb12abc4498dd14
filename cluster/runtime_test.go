package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A node can be started, frozen, thawed, killed, stopped and started again in every
// runtime, and each start is another instance.
func TestRuntimeContract(t *testing.T) {
	for name, open := range launchers() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			n := &Node{name: "node-1", dir: dir, log: filepath.Join(dir, "log"), data: filepath.Join(dir, "data"), argv: []string{"sleep", "600"}, restartBound: time.Minute, stopBound: time.Minute}
			n.ready = func(context.Context) error { return nil }
			open(t, n)
			t.Cleanup(func() { n.kill() })
			if err := n.launch(t.Context()); err != nil {
				t.Fatal(err)
			}
			before, err := n.Process()
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range []struct{ want, state string }{
				{history.StateFrozen, history.StateFrozen},
				{history.StateRunning, history.StateRunning},
				{history.EndKilled, history.StateKilled},
				{history.StateRunning, history.StateRunning},
				{history.EndStopped, history.StateExited}, // the first process of a container ends by no signal
			} {
				if err := n.Set(t.Context(), step.want); err != nil {
					t.Fatalf("set %s: %v", step.want, err)
				}
				if state, err := n.State(t.Context()); !strings.HasPrefix(state, step.state) || (state == history.StateKilled) != (step.want == history.EndKilled) || err != nil {
					t.Errorf("set %s: it is %q, %v; want %q", step.want, state, err, step.state)
				}
				if n.Mechanism(step.want) == "" && step.want == history.EndKilled && name != "process" {
					t.Error("it does not say how it kills")
				}
			}
			if err := n.Set(t.Context(), history.StateRunning); err != nil {
				t.Fatal(err)
			}
			if after, err := n.Process(); after == before || err != nil {
				t.Errorf("%s before and %s after it was started again, %v", before, after, err)
			}
		})
	}
}

// launchers give a node the launcher of each runtime.
func launchers() map[string]func(*testing.T, *Node) {
	all := map[string]func(*testing.T, *Node){
		"process": func(t *testing.T, n *Node) {
			var err error
			if n.host, err = NewLoopback("host").Host("node-1"); err != nil {
				t.Fatal(err)
			}
			n.launcher = processes{}
		},
		"fake": func(_ *testing.T, n *Node) { n.launcher = &fakeLauncher{} },
	}
	maps.Copy(all, onLinux)
	return all
}

// onLinux are the launchers of runtimes that tests have on Linux alone.
var onLinux = map[string]func(*testing.T, *Node){}

// Brokers that somebody else started cannot be started again, and a container takes
// nothing of this host beside it.
func TestLauncherLimits(t *testing.T) {
	if _, err := (gone{}).launch(t.Context(), &Node{name: "node-1"}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("it starts a broker of somebody else: %v", err)
	}
	for _, what := range []thing{diskLayer, clockLibrary, otherBinary} {
		if err := new(box).beside(what); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "runtime") {
			t.Errorf("thing %d beside a container: %v", what, err)
		}
	}
	if err := new(podLauncher).beside(diskLayer); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "runtime") {
		t.Errorf("a disk layer beside a pod: %v", err)
	}
	if _, err := RuntimeNamed("nomad"); err == nil || !strings.Contains(err.Error(), "choose process or docker or kubernetes") {
		t.Errorf("an unknown runtime: %v", err)
	}
}

// fakeLauncher runs nodes as nothing but a state.
type fakeLauncher struct{ started int }

func (l *fakeLauncher) launch(context.Context, *Node) (instance, error) {
	l.started++
	return &fakeInstance{id: l.started, now: history.StateRunning, gone: make(chan struct{})}, nil
}

func (*fakeLauncher) mechanism(string) string { return "fake" }
func (*fakeLauncher) beside(thing) error      { return nil }

type fakeInstance struct {
	id    int
	mu    sync.Mutex
	now   string
	gone  chan struct{}
	after instance
}

func (f *fakeInstance) String() string                { return fmt.Sprintf("fake %d", f.id) }
func (f *fakeInstance) number() int                   { return 0 }
func (f *fakeInstance) identity() (string, error)     { return f.String(), nil }
func (f *fakeInstance) ended() <-chan struct{}        { return f.gone }
func (f *fakeInstance) starved() bool                 { return false }
func (f *fakeInstance) next(context.Context) instance { return f.after }
func (f *fakeInstance) exited() bool                  { return strings.HasPrefix(f.how(), history.StateExited) }

func (f *fakeInstance) how() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fakeInstance) state(context.Context) (string, error) { return f.how(), nil }

func (f *fakeInstance) signal(sig syscall.Signal) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch sig {
	case sigFreeze:
		f.now = history.StateFrozen
	case sigThaw:
		f.now = history.StateRunning
	default:
		f.now = fmt.Sprintf("%ssignal %d (%s)", history.StateExited, sig, sig)
		close(f.gone)
	}
	return nil
}

// A container that its engine starts again by itself has ended, and the node is the next one.
func TestStartedAgainByItsEngine(t *testing.T) {
	second := &fakeInstance{id: 2, now: history.StateRunning, gone: make(chan struct{})}
	first := &fakeInstance{id: 1, now: history.StateExited + "its engine has started it again", gone: make(chan struct{}), after: second}
	n := &Node{name: "node-1", proc: first}
	close(first.gone)
	ctx, cancel := context.WithCancel(t.Context())
	seen, done := make(chan Exit, 1), make(chan struct{})
	go func() {
		defer close(done)
		n.Exits(ctx, func(e Exit) { seen <- e })
	}()
	if e := <-seen; e.Asked || e.State != first.now {
		t.Errorf("%+v", e)
	}
	for began := time.Now(); n.process() != second; time.Sleep(time.Millisecond) {
		if time.Since(began) > hosttest.Bound {
			t.Fatalf("the node is %s", n.process())
		}
	}
	cancel()
	<-done
}
