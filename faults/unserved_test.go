package faults

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// TestNodeDown heals faults on a node that ends by itself when it is started:
// nothing of them is left, which is no failure to heal, and the node is down.
func TestNodeDown(t *testing.T) {
	ended := absent{errors.New("it ended before it served (exited: status 1)")}
	tests := []struct {
		name, fault string
		bend        func(*diskRig)
		want        history.HealState
		reason      string
	}{
		{"it ends by itself", "power_loss", func(r *diskRig) { r.nodes[0].broken = ended }, history.HealDown, "exited: status 1"},
		{"it ends by itself after a kill", "kill", func(r *diskRig) { r.nodes[0].broken = ended }, history.HealDown, "exited: status 1"},
		{"we could not start it", "power_loss", func(r *diskRig) { r.nodes[0].broken = errors.New("no such file") }, history.HealFailed, "no such file"},
		{"it ends, and the disk is not well", "power_loss", func(r *diskRig) {
			r.nodes[0].broken = ended
			r.disks["node-1"].broken = errors.New("the disk is gone")
		}, history.HealFailed, "the disk is gone"},
		{"it runs and answers nobody", "kill", func(r *diskRig) { r.nodes[0].mute = true }, history.HealDown, "does not answer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newDiskRig(3)
				l := r.inject(t, test.fault, r.on(1), 5)
				time.Sleep(time.Second)
				test.bend(r)
				l, err := r.Heal(t.Context(), l.Fault)
				if err == nil {
					t.Fatal("no error")
				}
				if l.State != history.Landed || l.Healed != test.want || !strings.Contains(strings.Join(l.Reasons, "; "), test.reason) {
					t.Errorf("%s, heal %s, because %q; want %s, because %q", l.State, l.Healed, l.Reasons, test.want, test.reason)
				}
				down := test.want == history.HealDown
				if state := l.Down["node-1"]; down != (state != "") || down != (l.Times.HealedNS > 0) {
					t.Errorf("down %v, healed at %d", l.Down, l.Times.HealedNS)
				}
				if len(r.Active()) != 1 {
					t.Errorf("active: %v", r.Active())
				}
			})
		})
	}
}

// TestNodeDownForGood starts such a node a second time: only when asked for,
// and that it serves then does not undo what was seen.
func TestNodeDownForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDiskRig(2)
		l := r.inject(t, "kill", r.on(1), 5)
		r.nodes[0].broken = absent{errors.New("it ended")}
		r.Heal(t.Context(), l.Fault)
		starts := len(r.seen())
		if err := r.HealAll(t.Context()); err == nil || len(r.seen()) != starts {
			t.Errorf("all healed: %v, after %q", err, r.seen()[starts:])
		}
		r.nodes[0].broken = nil
		if l, err := r.Heal(t.Context(), l.Fault); err != nil || l.Healed != history.HealDown || l.Times.HealedNS < l.Times.HealNS {
			t.Errorf("once more: %s, %v, from %d to %d", l.Healed, err, l.Times.HealNS, l.Times.HealedNS)
		}
		if len(r.Active()) != 0 {
			t.Errorf("active: %v", r.Active())
		}
	})
}

// TestNodeDownMeanwhile heals all while it is still being seen that such a node stays away: it is
// not started again for that.
func TestNodeDownMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDiskRig(2)
		l := r.inject(t, "kill", r.on(1), 5)
		r.nodes[0].broken, r.nodes[0].slow = absent{errors.New("it ended")}, true
		go r.Heal(t.Context(), l.Fault)
		for !slices.Contains(r.seen(), "set node-1 running") {
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait() // it has failed, and looks at the node
		starts := len(r.seen())
		if err := r.HealAll(t.Context()); err == nil {
			t.Error("all healed")
		}
		for _, line := range r.seen()[starts:] {
			if strings.Contains(line, "heal call") || strings.Contains(line, Running) {
				t.Errorf("after the heal: %q", r.seen()[starts:])
			}
		}
		if l := r.Landings()[0]; l.Healed != history.HealDown || l.Times.HealedNS < l.Times.HealNS {
			t.Errorf("healed %s, from %d to %d", l.Healed, l.Times.HealNS, l.Times.HealedNS)
		}
	})
}

// TestNodeKeptDown heals a kill while another fault may keep the node from
// starting. Nobody can say whose doing that is, so it is not the broker's; when
// all are healed again it is started once more.
func TestNodeKeptDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newDiskRig(2)
		kill := r.inject(t, "kill", r.on(1), 50)
		full := r.inject(t, "full", r.on(1), 50)
		r.nodes[0].broken = absent{errors.New("no space left")}
		if l, err := r.Heal(t.Context(), kill.Fault); err == nil || l.Healed != history.HealFailed {
			t.Errorf("the kill: heal %s, %v", l.Healed, err)
		}
		if l, err := r.Heal(t.Context(), full.Fault); err == nil || l.Healed != history.HealFailed {
			t.Errorf("the full disk: heal %s, %v", l.Healed, err)
		}
		r.nodes[0].broken = nil
		if err := r.HealAll(t.Context()); err != nil {
			t.Error(err)
		}
		for _, l := range r.Landings() {
			if l.Healed != history.HealVerified || len(l.Down) > 0 {
				t.Errorf("%s: heal %s, down %v, because %q", l.Type, l.Healed, l.Down, l.Reasons)
			}
		}
	})
}

// TestUnserved is what counts as the broker's own.
func TestUnserved(t *testing.T) {
	own := fmt.Errorf("render: %w", absent{errors.New("it ended")})
	for _, test := range []struct {
		name string
		err  error
		want bool
	}{
		{"none", nil, false},
		{"another", errors.New("no such file"), false},
		{"its own", own, true},
		{"two of its own", fmt.Errorf("all: %w", errors.Join(own, own)), true},
		{"one of its own and another", errors.Join(own, errors.New("no such file")), false},
	} {
		if got := unserved(test.err); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}
