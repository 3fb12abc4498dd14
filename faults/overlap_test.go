package faults

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// TestOverlappingFaults injects and heals faults in random order. Each node
// shows the worst of its active faults at every moment, and runs when all are
// healed.
func TestOverlappingFaults(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { overlap(t, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func overlap(t *testing.T, random *rand.Rand) {
	r := newRig(3)
	types := []string{"kill", "stop", "pause"}
	active := map[string]history.Landing{} // by fault
	for range 12 {
		if len(active) == 0 || random.IntN(3) > 0 {
			typ, target := types[random.IntN(3)], r.on(1+random.IntN(3), 1+random.IntN(3))
			l, err := r.Inject(t.Context(), request(t, typ, 300), target)
			if errors.Is(err, ErrInPlace) == !addsNothing(active, typ, target) || err != nil && !errors.Is(err, ErrInPlace) {
				t.Fatalf("%s on %v with %d faults in place: %v", typ, names(target.Nodes), len(active), err)
			}
			if err == nil {
				active[l.Fault] = l
			}
		} else {
			ids := slices.Sorted(maps.Keys(active))
			id := ids[random.IntN(len(ids))]
			if _, err := r.Heal(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			delete(active, id)
		}
		checkShown(t, r, active)
	}
	if err := r.HealAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkShown(t, r, nil)
	for _, l := range r.Landings() {
		if l.Healed != history.HealVerified {
			t.Errorf("%s: healed %s %q", l.Fault, l.Healed, l.Reasons)
		}
	}
	if pending, err := Pending(r.lines); err != nil || len(pending) > 0 {
		t.Errorf("pending after all were healed: %v, %v", pending, err)
	}
}

// addsNothing reports whether faults of that type are on all of the nodes.
func addsNothing(active map[string]history.Landing, typ string, target Target) bool {
	return !slices.ContainsFunc(target.Nodes, func(n Node) bool {
		for _, l := range active {
			if l.Type == typ && slices.Contains(l.Nodes, n.Name()) {
				return false
			}
		}
		return true
	})
}

func checkShown(t *testing.T, r *rig, active map[string]history.Landing) {
	t.Helper()
	for _, n := range r.nodes {
		paused, down := false, false
		for _, l := range active {
			for _, name := range l.Nodes {
				paused = paused || name == n.name && l.Type == "pause"
				down = down || name == n.name && l.Type != "pause"
			}
		}
		want := Running
		if paused {
			want = Frozen
		}
		got := n.now()
		if down && (got == Running || got == Frozen) || !down && got != want {
			t.Fatalf("%s is %q with %d active faults (paused %t, down %t)", n.name, got, len(active), paused, down)
		}
	}
}

// A fault healed under another one is read back when that one ends.
func TestHealUnderAnotherFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(3)
		kill := r.inject(t, "kill", r.on(1), 300)
		pause := r.inject(t, "pause", r.on(1), 300)
		l, err := r.Heal(t.Context(), kill.Fault)
		if err != nil || l.Healed != history.HealPending || len(l.Reasons) == 0 {
			t.Errorf("healed %s %q, %v", l.Healed, l.Reasons, err)
		}
		if r.nodes[0].now() != Frozen {
			t.Errorf("node-1 is %s under a pause", r.nodes[0].now())
		}
		time.Sleep(time.Minute) // of the bubble's clock: nothing is waiting for recovery
		if _, err := r.Heal(t.Context(), pause.Fault); err != nil {
			t.Fatal(err)
		}
		l, err = r.Wait(t.Context(), kill.Fault)
		if err != nil || l.Healed != history.HealVerified || len(l.Reasons) > 0 {
			t.Errorf("healed %s %q, %v", l.Healed, l.Reasons, err)
		}
	})
}
