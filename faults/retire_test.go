package faults

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/robustmq/rmq-mcp/history"
)

// TestRetire ends a cluster with a fault that could not be healed: it is
// undone with the cluster, the journal says so, and the landing does not.
func TestRetire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(2)
		l := r.inject(t, "kill", r.on(1), 5)
		r.nodes[0].broken = errors.New("port taken")
		if _, err := r.Heal(t.Context(), l.Fault); err == nil {
			t.Fatal("it was healed")
		}
		if pending, err := Pending(r.lines); err != nil || len(pending) != 1 {
			t.Fatalf("before: pending %v, %v", pending, err)
		}
		if err := r.Retire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if pending, err := Pending(r.lines); err != nil || len(pending) != 0 {
			t.Errorf("pending %v, %v", pending, err)
		}
		if l := r.Landings()[0]; l.Healed != history.HealFailed {
			t.Errorf("the landing says heal %s", l.Healed)
		}
	})
}
