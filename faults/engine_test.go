package faults

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

func encode(data any) json.RawMessage {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return raw
}

func TestInjectIsJournalledBeforeItIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		l := r.inject(t, "kill", r.on(2), 10)
		if l.State != history.Landed || l.Healed != history.HealPending {
			t.Errorf("during: %s, healed %s: %v", l.State, l.Healed, l.Reasons)
		}
		l, err := r.Wait(t.Context(), l.Fault)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"journal plan", "inject call", "set node-2 killed", "journal applied", "inject return",
			"heal call", "set node-2 running", "journal healed", "heal return",
		}
		if diff := cmp.Diff(want, r.seen()); diff != "" {
			t.Error(diff)
		}
		if l.State != history.Landed || l.Healed != history.HealVerified || len(l.Reasons) > 0 {
			t.Errorf("after: %s, healed %s: %v", l.State, l.Healed, l.Reasons)
		}
		if took := time.Duration(l.Times.HealNS - l.Times.AppliedNS); took != 10*time.Second {
			t.Errorf("healed by its timer after %v, want 10s", took)
		}
		if e := r.events[1]; e.Call != 0 || e.Node != 1 || e.Text != "f1" || e.Outcome != history.OK {
			t.Errorf("return of the injection: %+v", e)
		}
	})
}

func TestHealEarlyTwiceAndAfterCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		f := r.inject(t, "pause", r.on(1), 100)
		whole := r.inject(t, "pause", r.on(2), 0.5)
		if l, err := r.Wait(t.Context(), whole.Fault); err != nil || l.Times.AskedNS != 0 {
			t.Errorf("it had its time: %v, %+v", err, l.Times)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 {
			l, err := r.Heal(gone, f.Fault)
			if err != nil || l.Healed != history.HealVerified || l.State != history.Landed || l.Times.AskedNS == 0 {
				t.Fatalf("heal: %v, %s, %s, %+v", err, l.Healed, l.State, l.Times)
			}
		}
		if r.nodes[0].now() != Running || r.Now() > time.Second {
			t.Errorf("node-1 is %s at %v", r.nodes[0].now(), r.Now())
		}
		if len(r.Active()) != 0 {
			t.Errorf("still active: %v", r.Active())
		}
	})
}

func TestHealForAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		f := r.inject(t, "pause", r.on(1), 100)
		time.Sleep(time.Second)
		if err := r.HealAllFor(t.Context(), errors.New("its client left")); err != nil {
			t.Fatal(err)
		}
		l, err := r.Wait(t.Context(), f.Fault)
		if err != nil || l.State != history.Landed || len(l.Reasons) != 1 || !strings.HasSuffix(l.Reasons[0], " of 100.0 s: its client left") {
			t.Errorf("%s, %q, %v", l.State, l.Reasons, err)
		}
	})
}

// A heal that is asked for does not wait for the samples in progress.
func TestHealWhileItSettles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(2)
		r.nodes[0].slow = true
		injected := make(chan history.Landing)
		go func() {
			l, err := r.Inject(t.Context(), request(t, "pause", 100), r.on(1))
			if err != nil {
				t.Error(err)
			}
			injected <- l
		}()
		time.Sleep(time.Second)
		if r.nodes[0].now() != Frozen {
			t.Fatalf("node-1 is %s", r.nodes[0].now())
		}
		if err := r.HealAll(t.Context()); err != nil {
			t.Error(err)
		}
		if took := r.Now() - time.Second; took > hurriedBound {
			t.Errorf("healed %v after it was asked for, want %v", took, hurriedBound)
		}
		l, err := r.Heal(t.Context(), (<-injected).Fault)
		if err != nil || l.State != history.Landed || l.Healed != history.HealVerified {
			t.Errorf("%s, healed %s: %v %v", l.State, l.Healed, l.Reasons, err)
		}
	})
}

func TestInjectHealsWhenItsCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		r.nodes[1].answers = true // so that it does not land, and Inject waits
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l, err := r.Inject(ctx, request(t, "pause", 100), r.on(2))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error: %v", err)
		}
		if l.Healed != history.HealVerified || r.nodes[1].now() != Running {
			t.Errorf("healed %s, node-2 is %s", l.Healed, r.nodes[1].now())
		}
	})
}

func TestJournalFailurePreventsInjection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		r.full = KindPlan
		l, err := r.Inject(t.Context(), request(t, "kill", 10), r.on(1))
		if err == nil || !strings.Contains(err.Error(), "no space left") {
			t.Errorf("error: %v", err)
		}
		if r.nodes[0].now() != Running || l.State == history.Landed {
			t.Errorf("node-1 is %s, landing %s", r.nodes[0].now(), l.State)
		}
		for _, s := range r.seen() {
			if strings.HasPrefix(s, "set") || strings.HasPrefix(s, "inject") {
				t.Errorf("after the journal failed: %s", s)
			}
		}
	})
}

func TestHalfAppliedIsTakenOut(t *testing.T) {
	tests := map[string]func(*rig){
		"a node refuses":        func(r *rig) { r.nodes[1].refuses = errors.New("operation not permitted") },
		"the journal is full":   func(r *rig) { r.full = KindApplied },
		"a layer does not open": func(r *rig) { r.nodes[1].name = "node-9"; r.layers.open = closed(r.layer) },
	}
	for name, bend := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(3)
				bend(r)
				l, err := r.Inject(t.Context(), request(t, "kill", 10), r.on(1, 2))
				if err == nil || l.State != history.Indeterminate || len(l.Reasons) == 0 {
					t.Errorf("error %v, landing %s %v", err, l.State, l.Reasons)
				}
				for _, n := range r.nodes {
					if n.now() != Running {
						t.Errorf("%s is %s", n.name, n.now())
					}
				}
				if len(r.Active()) > 0 || l.Healed != history.HealVerified {
					t.Errorf("healed %s, active: %v", l.Healed, r.Active())
				}
			})
		})
	}
}

func closed(open func(string) (Layer, error)) func(string) (Layer, error) {
	return func(name string) (Layer, error) {
		if name == "process/node-9" {
			return nil, errors.New("no such layer")
		}
		return open(name)
	}
}

func TestUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1)
		r.nodes[0].foreign = true
		l, err := r.Inject(t.Context(), request(t, "kill", 10), r.on(1))
		if !errors.Is(err, ErrUnsupported) || l.State != history.Unsupported {
			t.Errorf("error %v, landing %s", err, l.State)
		}
		if len(l.Reasons) != 1 || !strings.Contains(l.Reasons[0], "somebody else's") {
			t.Errorf("reasons: %q", l.Reasons)
		}
		if got := r.Landings(); len(got) != 1 || got[0].Fault != "f1" {
			t.Errorf("landings: %v", got)
		}
	})
}

// A fault of which the target was not found did not land, and says why.
func TestMiss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(1)
		l := r.Miss(request(t, "kill", 10), "leader", errors.New("no node names a leader"))
		if l.State != history.NotLanded || l.Healed != history.HealVerified || !slices.Equal(l.Reasons, []string{"no node names a leader"}) || l.Target != "leader" {
			t.Errorf("%+v", l)
		}
		if again, reasons, _ := verdict.DecideLanding(l); again != history.NotLanded || !slices.Equal(reasons, l.Reasons) {
			t.Errorf("decided again: %s, %q", again, reasons)
		}
		if len(r.Active()) > 0 || r.HealAll(t.Context()) != nil {
			t.Error("it is in place")
		}
	})
}

func TestHealThatFailsCanBeRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		f := r.inject(t, "kill", r.on(1), 100)
		r.nodes[0].broken = errors.New("port taken")
		l, err := r.Heal(t.Context(), f.Fault)
		if err == nil || !strings.Contains(err.Error(), "port taken") || l.Healed != history.HealFailed {
			t.Errorf("error %v, healed %s", err, l.Healed)
		}
		if len(r.Active()) != 1 {
			t.Error("a fault whose heal failed is not shown")
		}
		if p, err := Pending(r.lines); err != nil || len(p) != 1 {
			t.Errorf("pending: %v, %v", p, err)
		}
		r.nodes[0].broken = nil
		l, err = r.Heal(t.Context(), f.Fault)
		if err != nil || l.Healed != history.HealVerified || r.nodes[0].now() != Running {
			t.Errorf("second heal: %v, %s", err, l.Healed)
		}
	})
}

func TestUnknownFaultListsTheKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		_, err := r.Heal(t.Context(), "f7")
		if err == nil || !strings.Contains(err.Error(), "none was injected") {
			t.Errorf("error: %v", err)
		}
		r.inject(t, "kill", r.on(1), 1)
		_, err = r.Wait(t.Context(), "f7")
		if err == nil || !strings.Contains(err.Error(), "known: f1 (kill node-1)") {
			t.Errorf("error: %v", err)
		}
		if err := r.HealAll(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestActiveSaysWhenItHeals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		r.inject(t, "pause", r.on(1), 30)
		time.Sleep(10 * time.Second) // of the bubble's clock
		active := r.Active()
		if len(active) != 1 || active[0].HealsIn != 20*time.Second {
			t.Errorf("active: %+v", active)
		}
		if err := r.HealAll(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A Step happens after the entries are in place, and once.
func TestStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(2)
		f := r.inject2(t, planner(func(context.Context, Target) (*Injection, error) {
			return &Injection{
				Entries: []Entry{{Layer: "process/node-1", Want: Frozen}},
				Step:    func(context.Context) error { r.note("step"); return nil },
			}, nil
		}))
		if _, err := r.Heal(t.Context(), f.Fault); err != nil {
			t.Fatal(err)
		}
		got := strings.Join(r.seen(), ", ")
		if !strings.Contains(got, "set node-1 frozen, step, journal applied") || strings.Count(got, "step") != 1 {
			t.Error(got)
		}
	})
}

// A fault that cannot be planned has not landed, for that reason alone.
func TestUnplanned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(2)
		why := errors.New("node-1 has no link with other nodes")
		_, err := r.Inject(t.Context(), Request{Fault: planner(func(context.Context, Target) (*Injection, error) { return nil, why })}, r.on(1))
		l := r.Landings()[0]
		if !errors.Is(err, why) || l.State != history.NotLanded || len(l.Reasons) != 1 || !strings.Contains(l.Reasons[0], why.Error()) {
			t.Errorf("%v; %s %q", err, l.State, l.Reasons)
		}
	})
}

// planner is a fault made of its plan.
type planner func(context.Context, Target) (*Injection, error)

func (planner) Name() string { return "planned" }

func (p planner) Plan(ctx context.Context, t Target) (*Injection, error) { return p(ctx, t) }

func (r *rig) inject2(t *testing.T, f Fault) history.Landing {
	t.Helper()
	l, err := r.Inject(t.Context(), Request{Fault: f}, r.on(1))
	if err != nil {
		t.Fatal(err)
	}
	return l
}
