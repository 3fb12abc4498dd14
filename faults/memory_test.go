package faults

import "testing"

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
			effect := orEnded(n, (&meter{count: func() (int64, error) { return 0, nil }}).slower(n))
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
