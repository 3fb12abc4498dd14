package experiment

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A fakePlace has a ground of nodes that are nothing but their states.
type fakePlace struct {
	bed
	ground *fakeGround
}

func (p fakePlace) up(context.Context) error {
	p.stage.info = history.ClusterInfo{Flavor: "reference", Nodes: len(p.ground.all)}
	p.nemesis.Store(newNemesis(p.spec, p.record, p.ground, fakeCrowd{}, p.decide))
	return p.stage.freeze()
}

func (p fakePlace) observe(_, _ context.Context) {}
func (p fakePlace) answers(context.Context)      {}
func (p fakePlace) lost() bool                   { return false }
func (p fakePlace) forget(context.Context)       {}
func (p fakePlace) down(context.Context)         {}

// A whole run of fakes, from its start to its sealed verdict. A broker that keeps its promises
// passes. A lost message is a failure. A fault that cannot be done is no pass.
func TestRunOfFakes(t *testing.T) {
	for name, test := range map[string]struct {
		bend func(*fakeSystem, *fakeGround)
		want verdict.State
		says string
	}{
		"keeps its promises":      {func(*fakeSystem, *fakeGround) {}, verdict.PassSmoke, "with kill of node-1"},
		"loses a message":         {func(f *fakeSystem, _ *fakeGround) { f.loses = 40 }, verdict.FailOnce, "due deliveries were lost; first: message 40"},
		"delivers to no new node": {func(_ *fakeSystem, g *fakeGround) { g.all[0].dead = true }, verdict.FailOnce, "node-1"},
		"cannot be killed":        {func(_ *fakeSystem, g *fakeGround) { g.leads = "node-9" }, verdict.InconclusiveFault, "node-9"},
	} {
		inBed(t, func(t *testing.T, b bed) {
			g := newFakeGround(3)
			test.bend(b.system, g)
			if err := b.run(t.Context(), fakePlace{b, g}, b.parts); err != nil {
				t.Fatal(err)
			}
			s, err := reports.Dir(b.env.Dir).Summary()
			if err != nil {
				t.Fatal(err)
			}
			if v := s.Verdict; v.State != test.want || !strings.Contains(v.Headline, test.says) || s.Root == "" {
				t.Errorf("%s: %s, %q", name, v.Headline, v.Reasons)
			}
		})
	}
}

// A run of a healthy broker that is stopped, at any moment, is sealed and healed, and
// fails nothing.
func TestRunOfFakesStopped(t *testing.T) {
	for stop := time.Duration(0); stop < 50*time.Second; stop += 1700 * time.Millisecond {
		inBed(t, func(t *testing.T, b bed) {
			g := newFakeGround(3)
			defer time.AfterFunc(stop, b.halt).Stop()
			if err := b.run(t.Context(), fakePlace{b, g}, b.parts); err != nil {
				t.Fatal(err)
			}
			s, err := reports.Dir(b.env.Dir).Summary()
			if err != nil {
				t.Fatal(err)
			}
			if s.Verdict.State.Failed() || s.Root == "" || len(b.noted()) > 0 {
				t.Errorf("stopped after %s: %s; the harness notes %q", stop, s.Verdict.Headline, b.noted())
			}
			for _, n := range g.all {
				if n.state != history.StateRunning {
					t.Errorf("stopped after %s: %s is %s", stop, n.name, n.state)
				}
			}
		})
	}
}

// The death of a keeper, at any moment, leaves a journal with every fault in place. Its record is
// recovered as neither a pass nor a failure.
func TestRunOfFakesKilled(t *testing.T) {
	inPlace := 0
	for death := time.Second; death < 50*time.Second; death += 1700 * time.Millisecond {
		inBed(t, func(t *testing.T, b bed) {
			g := newFakeGround(3)
			left := filepath.Join(t.TempDir(), filepath.Base(b.env.Dir))
			down, died := []string{}, false
			defer time.AfterFunc(death, func() {
				for _, n := range g.all {
					if state, _ := n.State(context.Background()); state != faults.Running {
						down = append(down, "process/"+n.name)
					}
				}
				_, err := reports.Dir(b.env.Dir).Summary()
				died = err != nil // else the run was over
				if err := os.CopyFS(left, os.DirFS(b.env.Dir)); err != nil {
					t.Error(err)
				}
			}).Stop()
			if err := b.run(t.Context(), fakePlace{b, g}, b.parts); err != nil {
				t.Fatal(err)
			}
			if !died {
				return
			}
			pending := pendingOf(t, left)
			inPlace += len(down)
			for _, layer := range down {
				if !slices.ContainsFunc(pending, func(e faults.Entry) bool { return e.Layer == layer }) {
					t.Errorf("killed after %s: %s is down, and the journal has %v", death, layer, pending)
				}
			}
			key, err := reports.LoadKey(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s, err := reports.Recover(left, key)
			if err != nil {
				t.Fatalf("killed after %s: %v", death, err)
			}
			if state := s.Verdict.State; state.Failed() || state.ExitCode() == 0 {
				t.Errorf("killed after %s: %s", death, s.Verdict.Headline)
			}
		})
	}
	if inPlace < 2 {
		t.Errorf("at %d moments a fault was in place: this test shows little", inPlace)
	}
}

// pendingOf are the entries of a run's journal that may still be in place.
func pendingOf(t *testing.T, run string) []faults.Entry {
	t.Helper()
	entries, err := journal.Read(reports.Dir(run).File(reports.EvidenceDir, reports.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]faults.Line, len(entries))
	for i, e := range entries {
		lines[i] = faults.Line{Kind: e.Kind, Data: e.Data}
	}
	pending, err := faults.Pending(lines)
	if err != nil {
		t.Fatal(err)
	}
	return pending
}
