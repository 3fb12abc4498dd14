package router

import (
	"slices"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/offset"
)

const ms = time.Millisecond

// burst is probes that are sent each millisecond and take so long there and back. The clock at the
// far end is ahead by an hour.
func burst(there, back time.Duration) (s Sending, seen Sighting) {
	for n := range 3 {
		sent := time.Second + time.Duration(n)*ms
		s.Sent, s.Back = append(s.Sent, sent), append(s.Back, sent+there+back)
		seen.Seen, seen.At = append(seen.Seen, n), append(seen.At, sent+there+time.Hour)
	}
	return s, seen
}

// The way there of a link is known although clocks differ, also when one way of it is slow.
func TestClocks(t *testing.T) {
	var c offset.Estimate
	silent, seen := burst(2*ms, 2*ms)
	silent.Back = make([]time.Duration, 3)
	if c = observed(c, silent, seen); len(joinedBy(c, silent, seen).There) > 0 {
		t.Errorf("no probe ever came back: %+v", c)
	}
	for _, test := range []struct{ there, back, want time.Duration }{
		{2 * ms, 2 * ms, 2 * ms},
		{52 * ms, 2 * ms, 52 * ms},
		{2 * ms, 52 * ms, 2 * ms},
		{52 * ms, 52 * ms, 52 * ms},
		{2 * ms, 2 * ms, 2 * ms},
	} {
		s, seen := burst(test.there, test.back)
		c = observed(c, s, seen)
		if got := joinedBy(c, s, seen); !slices.Equal(got.There, slices.Repeat([]time.Duration{test.want}, 3)) || got.Arrived != 3 {
			t.Errorf("%+v: %+v by %+v", test, got, c)
		}
	}
}

func TestJoined(t *testing.T) {
	s, _ := burst(ms, ms)
	s.Pings.Duplicated, s.Pings.Corrupted = 1, 1
	got := joinedBy(offset.Estimate{}, s, Sighting{Seen: []int{2, 0, 1}, At: make([]time.Duration, 3), Duplicated: 2, Corrupted: 3})
	if got.Arrived != 3 || got.Reordered != 2 || got.Duplicated != 3 || got.Corrupted != 4 {
		t.Errorf("%+v", got)
	}
}
