package netqueue

import "testing"

// An ordinary user cannot read the kernel's count of dropped packets. The gaps in the
// packets' numbers tell it.
func TestGaps(t *testing.T) {
	for _, test := range []struct {
		latest       uint32
		seen         uint64
		peak         int64
		want         uint64
		undetermined bool
	}{
		{latest: 0, seen: 0},
		{latest: 10, seen: 10},
		{latest: 10, seen: 8, want: 2},
		{latest: 8, seen: 10},                 // more came meanwhile
		{latest: 3, seen: 1<<32 + 1, want: 2}, // the kernel's numbers begin again
		{latest: 10, seen: 10, peak: longest - 1, undetermined: true},
	} {
		q := &Queue{}
		q.latest.Store(test.latest)
		q.counts.seen.Store(test.seen)
		q.peak.Store(test.peak)
		if got, err := q.gaps(); got != test.want || (err != nil) != test.undetermined {
			t.Errorf("%+v: %d, %v", test, got, err)
		}
	}
}
