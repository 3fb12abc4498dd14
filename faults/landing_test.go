package faults

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// TestLanding compares the landing with the behaviour of the nodes. The
// decision is the real one.
func TestLanding(t *testing.T) {
	tests := []struct {
		name   string
		fault  string
		nodes  []int
		bend   func(*rig)
		want   history.LandingState
		reason string
		stays  bool // down: what died by itself is not ours to start
	}{
		{name: "kill", fault: "kill", nodes: []int{2}, want: history.Landed},
		{name: "stop", fault: "stop", nodes: []int{2}, want: history.Landed},
		{name: "pause", fault: "pause", nodes: []int{2}, want: history.Landed},
		{name: "a majority", fault: "kill", nodes: []int{1, 2}, want: history.Landed},
		{name: "all nodes: the witness is the control", fault: "pause", nodes: []int{1, 2, 3}, want: history.Landed},
		{
			name: "nothing happens", fault: "pause", nodes: []int{2}, want: history.NotLanded, reason: "wanted frozen",
			bend: func(r *rig) { r.nodes[1].deaf = true },
		},
		{
			name: "clients do not notice", fault: "kill", nodes: []int{2}, want: history.NotLanded, reason: "answered before",
			bend: func(r *rig) { r.nodes[1].answers = true },
		},
		{
			name: "one of two", fault: "pause", nodes: []int{1, 2}, want: history.Partial, reason: "node-2",
			bend: func(r *rig) { r.nodes[1].deaf = true },
		},
		{
			name: "it was down before", fault: "kill", nodes: []int{2}, want: history.NotLanded, reason: "no fault has ended it",
			bend: func(r *rig) { r.nodes[1].state = "exited: signal 9 (killed)" }, stays: true,
		},
		{
			name: "killed instead of stopped", fault: "stop", nodes: []int{2}, want: history.NotLanded, reason: "signal 9",
			bend: func(r *rig) { r.nodes[1].exit = "exited: signal 9 (killed)" },
		},
		{
			name: "stopped with a status", fault: "stop", nodes: []int{2}, want: history.Landed,
			bend: func(r *rig) { r.nodes[1].exit = "exited: status 3" },
		},
		{
			name: "another node is down too", fault: "kill", nodes: []int{2}, want: history.Indeterminate, reason: "node-3",
			bend: func(r *rig) { r.nodes[2].state = "exited: status 1" },
		},
		{
			name: "the witness is silent", fault: "kill", nodes: []int{2}, want: history.Indeterminate, reason: "witness",
			bend: func(r *rig) { r.witness.state = Frozen },
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(3)
				if test.bend != nil {
					test.bend(r)
				}
				l := r.inject(t, test.fault, r.on(test.nodes...), 10)
				l, err := r.Wait(t.Context(), l.Fault)
				if err != nil {
					t.Fatal(err)
				}
				if l.State != test.want || !strings.Contains(strings.Join(l.Reasons, "; "), test.reason) {
					t.Errorf("landing %s %q, want %s for %q", l.State, l.Reasons, test.want, test.reason)
				}
				for _, n := range l.Nodes {
					if s := r.nodes[r.index(n)]; (s.now() != Running) != test.stays {
						t.Errorf("%s is %s after the heal", n, s.now())
					}
				}
			})
		})
	}
}

// A control that becomes another fault's target is none from then on, and does
// not spoil the first fault.
func TestControlUnderAnotherFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		r.inject(t, "kill", r.on(1), 10)
		r.inject(t, "pause", r.on(2), 10)
		if err := r.HealAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, l := range r.Landings() {
			if l.State != history.Landed {
				t.Errorf("%s: %s %q", l.Fault, l.State, l.Reasons)
			}
		}
	})
}

// A fault waits for what it is to break to work, for a bounded time, and not while another
// one is in place.
func TestBaseline(t *testing.T) {
	for name, test := range map[string]struct {
		returns time.Duration // of the node's service
		beside  bool          // another fault is in place
		want    history.LandingState
		within  time.Duration
	}{
		"it serves":                        {1, false, history.Landed, time.Second},
		"it serves soon":                   {6 * time.Second, false, history.Landed, 8 * time.Second},
		"it does not serve":                {time.Minute, false, history.Indeterminate, 12 * time.Second},
		"it does not, under another fault": {time.Minute, true, history.Indeterminate, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(3)
				if test.beside {
					r.inject(t, "pause", r.on(2), 60)
				}
				r.nodes[0].serves = time.Now().Add(test.returns)
				began := r.Now()
				l := r.inject(t, "kill", r.on(1), 5)
				if took := time.Duration(l.Times.ApplyNS) - began; l.State != test.want || took > test.within {
					t.Errorf("%s after %s: %q", l.State, took, l.Reasons)
				}
				for _, p := range l.Proofs {
					if n := len(slices.DeleteFunc(slices.Clone(p.Samples), func(s history.Sample) bool { return s.Moment != history.Before })); p.Role == history.RoleEffect && n != 1 {
						t.Errorf("%s was read %d times before the fault", p.Name, n)
					}
				}
				if err := r.HealAll(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
