package faults

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// On a host that is busy new clients of everybody wait, which no limit of a node is the
// reason of.
func TestSlowerThanTheWitness(t *testing.T) {
	for _, test := range []struct {
		name          string
		node, witness time.Duration // that they take under the limit
		want          bool
	}{
		{"both wait", 21 * time.Millisecond, 21 * time.Millisecond, false},
		{"the node waits", 21 * time.Millisecond, time.Millisecond, true},
		{"the node waits for more", 60 * time.Millisecond, 21 * time.Millisecond, true},
		{"nobody waits", time.Millisecond, time.Millisecond, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node, witness := &fakeNode{name: "node-1", state: Running}, &fakeNode{name: "witness", state: Running}
				effect := (&meter{count: func() (int64, error) { return 0, nil }}).slower(node, witness)
				record := history.ProofRecord{Name: effect.Name, Role: effect.Role, Want: effect.Want, Margin: effect.Margin, Unit: effect.Unit}
				for _, moment := range []history.Moment{history.Before, history.During} {
					s := effect.Read(t.Context())
					s.Moment = moment
					record.Samples = append(record.Samples, s)
					node.takes, witness.takes = test.node, test.witness
				}
				_, _, proofs := verdict.DecideLanding(history.Landing{Proofs: []history.ProofRecord{record}})
				if proofs[0].Holds != test.want {
					t.Errorf("holds %v, want %v: %+v", proofs[0].Holds, test.want, proofs[0])
				}
			})
		})
	}
}

// Under pressure a node that ended by itself kept its clients waiting; one that
// somebody ended says nothing of memory.
func TestPressureEnds(t *testing.T) {
	for state, want := range map[string]bool{
		"exited: status 2":                true,
		"exited: signal 6 (aborted)":      true,
		"exited: status 0":                false,
		"exited: signal 9 (killed)":       false,
		"exited: removed from the engine": false,
		Running:                           false,
	} {
		t.Run(state, func(t *testing.T) {
			n := &fakeNode{name: "node-1", state: Running}
			effect := orEnded(n, (&meter{count: func() (int64, error) { return 0, nil }}).slower(n, &fakeNode{name: "witness", state: Running}))
			before := effect.Read(t.Context())
			n.state, n.mute = state, true
			during := effect.Read(t.Context())
			if !before.OK || during.OK != want || want && during.Value-before.Value < effect.Margin {
				t.Errorf("%+v before, %+v during", before, during)
			}
			if want && during.State != state {
				t.Errorf("it says %q", during.State)
			}
		})
	}
}
