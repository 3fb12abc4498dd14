package experiment

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A rig is a nemesis over brokers that are nothing but their states, with a record on disk.
type rig struct {
	*nemesis
	ground *fakeGround
	dir    reports.Dir
}

// schedule runs a test in a bubble, with the nemesis of broker-kill-9 and another schedule.
func schedule(t *testing.T, nodes int, steps []scenarios.Step, test func(t *testing.T, r rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		env := keeper.Env{ID: "r1", Dir: dir, StateDir: dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
		e, err := New("test", env, keeper.Start{Scenario: "mqtt/broker-kill-9"}, verdict.DecideLanding)
		if err != nil {
			t.Fatal(err)
		}
		e.record.fill = func(*keeper.Progress) {}
		e.record.clock = bubbleClock{time.Now()}
		e.scenario.Schedule = steps
		g := newFakeGround(nodes)
		for _, n := range g.all {
			e.rec.Node(history.Node{Name: n.name})
		}
		r := rig{newNemesis(e.spec, e.record, g, fakeCrowd{}, verdict.DecideLanding), g, reports.Dir(dir)}
		t.Cleanup(func() { // also after a failure: the bubble ends with all its goroutines
			if err := errors.Join(r.rec.Close(), r.journal.Close()); err != nil {
				t.Error(err)
			}
		})
		test(t, r)
	})
}

// lines are the kinds of the journal's lines.
func (r rig) lines(t *testing.T) (kinds []string) {
	t.Helper()
	entries, err := journal.Read(r.dir.File(reports.EvidenceDir, reports.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func step(fault, target string, at, lasts float64) scenarios.Step {
	return scenarios.Step{Fault: fault, Target: target, AtS: at, Params: map[string]any{"duration_s": lasts}}
}

// Faults of a schedule overlap, land, heal at their times, and are on disk as landings, events and
// lines of the journal.
func TestDisturb(t *testing.T) {
	schedule(t, 3, []scenarios.Step{step("pause", "leader", 0, 4), step("kill", "node-2", 2, 4)}, func(t *testing.T, r rig) {
		began := time.Now()
		r.disturb(t.Context())
		if took := time.Since(began); took < 5*time.Second || took > 10*time.Second {
			t.Errorf("the schedule took %s", took)
		}
		landings, err := r.dir.Recorded()
		if err != nil || len(landings) != 2 {
			t.Fatalf("%d landings, %v", len(landings), err)
		}
		for _, l := range landings {
			if l.State != history.Landed || l.Healed != history.HealVerified || l.ByHand {
				t.Errorf("%s on %v: %s, healed %s, %q", l.Type, l.Nodes, l.State, l.Healed, l.Reasons)
			}
		}
		if !r.acted() || len(r.noted()) > 0 {
			t.Errorf("the harness notes %q", r.noted())
		}
		kinds := r.lines(t)
		for kind, want := range map[string]int{journal.KindCall: 2, journal.KindAnswer: 2, "plan": 2, "applied": 2, "healed": 2} {
			if n := len(slices.DeleteFunc(slices.Clone(kinds), func(k string) bool { return k != kind })); n != want {
				t.Errorf("%d lines %s in the journal, want %d: %q", n, kind, want, kinds)
			}
		}
	})
}

// A stop heals what is in place, at once, and begins no other fault.
func TestDisturbStopped(t *testing.T) {
	schedule(t, 3, []scenarios.Step{step("pause", "node-1", 0, 60), step("kill", "node-2", 30, 4)}, func(t *testing.T, r rig) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		r.disturb(ctx)
		r.healAll(t.Context())
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
		l := r.engine.Landings()
		if len(l) != 1 || l[0].State != history.Landed || l[0].Healed != history.HealVerified || r.ground.all[0].state != history.StateRunning {
			t.Errorf("%+v", l)
		}
	})
}

// A fault of the schedule whose target is not found is a landing that did not land. A caller by
// hand gets the error alone.
func TestTargetThatIsNotFound(t *testing.T) {
	schedule(t, 3, []scenarios.Step{step("kill", "node-9", 0, 4)}, func(t *testing.T, r rig) {
		if _, err := r.inject(t.Context(), keeper.Inject{Type: "kill", Target: "node-9", Caller: keeper.Caller{Via: "mcp"}}); err == nil || len(r.engine.Landings()) > 0 {
			t.Errorf("%v, %d landings", err, len(r.engine.Landings()))
		}
		r.disturb(t.Context())
		l := r.engine.Landings()
		if len(l) != 1 || l[0].State != history.NotLanded || !strings.Contains(strings.Join(l[0].Reasons, " "), "node-9") {
			t.Errorf("%+v", l)
		}
	})
}

// Targets are what the brokers say, what a single broker is, or a clear error.
func TestTarget(t *testing.T) {
	for _, test := range []struct {
		nodes       int
		leads       string
		asked, want string // names, or the error
		control     int
	}{
		{3, "node-2", "leader", "node-2", 3},
		{1, "", "leader", "node-1", 1},
		{3, "", "leader", "do not say who leads; name a node (node-1, node-2, node-3)", 0},
		{3, "node-1", "all", "node-1 node-2 node-3", 1},
		{3, "node-1", "leader~node-3", "node-1 node-3", 2},
		{3, "node-1", "leader~node-1", "node-1 is on both sides", 0},
		{3, "node-1", "node-1>clients", "node-1", 3},
		{3, "node-1", "client:x", "no client runs now", 0},
		{3, "node-1", "node-7", `no node "node-7"`, 0},
	} {
		schedule(t, test.nodes, nil, func(t *testing.T, r rig) {
			r.ground.leads = test.leads
			target, err := r.target(t.Context(), test.asked)
			got := strings.Join(names(target.Nodes), " ")
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) || len(target.Control) != test.control {
				t.Errorf("%s: %q and %d controls, want %q and %d", test.asked, got, len(target.Control), test.want, test.control)
			}
		})
	}
}

// A heal fails by the broker if the process was started and does not serve, and else by us.
func TestHealThatFails(t *testing.T) {
	for name, test := range map[string]struct {
		bend   func(*fakeNode)
		healed history.HealState
		noted  bool
	}{
		"a broker that stays away": {func(n *fakeNode) { n.dead = true }, history.HealDown, false},
		"a process that is stuck":  {func(n *fakeNode) { n.stuck = errors.New("no such process") }, history.HealFailed, true},
	} {
		schedule(t, 3, []scenarios.Step{step("kill", "node-1", 0, 2)}, func(t *testing.T, r rig) {
			test.bend(r.ground.all[0])
			r.disturb(t.Context())
			r.healAll(t.Context())
			if l := r.engine.Landings()[0]; l.Healed != test.healed || (len(r.noted()) > 0) != test.noted {
				t.Errorf("%s: healed %s, %q; the harness notes %q", name, l.Healed, l.Reasons, r.noted())
			}
		})
	}
}

// A fault outside the envelope of the start, or of the caller, is refused before anything is done.
func TestInjectOutsideTheEnvelope(t *testing.T) {
	narrow := envelope.Default("/state")
	narrow.MaxFaultDurationS = 1
	for _, start := range []bool{true, false} {
		schedule(t, 3, nil, func(t *testing.T, r rig) {
			in := keeper.Inject{Type: "pause", Target: "node-1", Params: map[string]any{"duration_s": 2.0}, Caller: keeper.Caller{Via: "mcp"}}
			if start {
				r.start.Envelope = &narrow
			} else {
				in.Envelope = &narrow
			}
			if _, err := r.inject(t.Context(), in); err == nil || !strings.Contains(err.Error(), "too long") || r.acted() {
				t.Errorf("%v, acted %v", err, r.acted())
			}
		})
	}
}

// A node is not called down before the time is over that one of its flavor may take.
func TestHealBound(t *testing.T) {
	for _, test := range []struct {
		recovery float64
		restart  time.Duration
		least    time.Duration
	}{
		{0, 0, time.Minute},
		{0, 120 * time.Second, 121 * time.Second},
		{90, 120 * time.Second, 121 * time.Second},
		{300, 120 * time.Second, 300 * time.Second},
	} {
		if got := healBound(scenarios.Tier{RecoveryS: test.recovery}, test.restart); got < test.least {
			t.Errorf("recovery_s %g, a restart of %v: %v, want %v or more", test.recovery, test.restart, got, test.least)
		}
	}
}
