package netqueue

import "testing"

// A queue that is treated in the same way goes on: it keeps its packets and its
// counts.
func TestTreatTheSame(t *testing.T) {
	s := NewSet(0)
	first := &Queue{opt: Options{Queue: 7, Treatment: Treatment{Do: Delay, Percent: 100, Delay: 5}}}
	s.open[7] = first
	if err := s.Treat(7, first.opt.Treatment); err != nil || s.open[7] != first {
		t.Errorf("it was opened anew, %v", err)
	}
}
