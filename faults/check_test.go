package faults

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
)

// backAgain is what was read back of a heal, last: a word for each check.
func backAgain(l history.Landing) map[string]string {
	out := map[string]string{}
	for _, p := range l.Proofs {
		if p.Role != history.RoleHeal {
			continue
		}
		out[p.Name] = "not read"
		if n := len(p.Samples); n > 0 {
			s := p.Samples[n-1]
			out[p.Name] = s.Error + s.State
		}
	}
	return out
}

// TestHealIsRecorded keeps what a heal was verified by, or why it was not.
func TestHealIsRecorded(t *testing.T) {
	const service, rule, link = "service of node-1", "rule in the router", "probes from node-1 to node-2"
	back := "probes from node-2 to node-1"
	for _, test := range []struct {
		name string
		net  *fakeNet
		want map[string]string
	}{
		{"all of it", &fakeNet{}, map[string]string{service: "", rule: "", link: "", back: ""}},
		{"the rule stays", &fakeNet{sticky: true}, map[string]string{
			service: "", rule: "its rule is still in the router", link: "not read", back: "not read"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, on := netRig(2, test.net)
				l := r.inject(t, "partition", on(1), 5)
				if diff := cmp.Diff(map[string]string{service: "not read", rule: "not read", link: "not read", back: "not read"}, backAgain(l)); diff != "" {
					t.Errorf("before the heal: %s", diff)
				}
				l, err := r.Wait(t.Context(), l.Fault)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, backAgain(l)); diff != "" {
					t.Errorf("%s: %s", l.Healed, diff)
				}
			})
		})
	}
}

// TestHealOfOneIsNoWordOnAnother heals a partition under another one of the same
// link: that nothing passes there is none of its own.
func TestHealOfOneIsNoWordOnAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, on := netRig(3, &fakeNet{})
		one := r.inject(t, "partition", on(1), 5)
		two := r.inject(t, "partition", on(1, 2), 50)
		time.Sleep(10 * time.Second)
		if l := r.Landings()[0]; l.Fault != one.Fault || l.Healed != history.HealPending {
			t.Fatalf("%s: heal %s", l.Fault, l.Healed)
		}
		for _, id := range []string{two.Fault, one.Fault} {
			l, err := r.Wait(t.Context(), id)
			if err != nil || l.Healed != history.HealVerified {
				t.Errorf("%s: heal %s, %v", id, l.Healed, err)
			}
			for name, said := range backAgain(l) {
				if said != "" && !strings.Contains(said, "another fault") {
					t.Errorf("%s: %s: %q", id, name, said)
				}
			}
		}
	})
}

// TestNodeDownIsRecorded keeps that a node did not come back.
func TestNodeDownIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDiskRig(2)
		l := r.inject(t, "kill", r.on(1), 5)
		r.nodes[0].mute = true
		l, _ = r.Heal(t.Context(), l.Fault)
		if said := backAgain(l)["service of node-1"]; l.Healed != history.HealDown || !strings.Contains(said, "does not answer") {
			t.Errorf("heal %s: %q", l.Healed, said)
		}
	})
}

// TestNothingDoneIsNothingToReadBack: what was never applied claims no heal.
func TestNothingDoneIsNothingToReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(2)
		r.full = KindPlan
		l, err := r.Inject(t.Context(), request(t, "pause", 5), r.on(1))
		if got := backAgain(l); len(got) > 0 || l.Times.AppliedNS != 0 {
			t.Errorf("%v, applied at %d (%v)", got, l.Times.AppliedNS, err)
		}
	})
}
