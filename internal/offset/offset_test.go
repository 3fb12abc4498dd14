package offset

import (
	"testing"
	"time"
)

const ms = time.Millisecond

// The other clock is ahead by an hour, and the error is never more than Within says.
func TestEstimate(t *testing.T) {
	var e Estimate
	if e.Known() {
		t.Error("it knows something of nothing")
	}
	for _, trip := range []struct{ at, there, back, within time.Duration }{
		{0, 5 * ms, 5 * ms, 5 * ms},
		{time.Second, 50 * ms, 2 * ms, 5*ms + 20*time.Microsecond}, // slower: it shows nothing
		{2 * time.Second, 3 * ms, ms, 2 * ms},                      // quicker
		{202 * time.Second, 3 * ms, 3 * ms, 3 * ms},                // slower, but the last is old
	} {
		now := trip.at + trip.there + trip.back
		e = e.With(trip.at, trip.at+trip.there+time.Hour, now)
		if got := e.Within(now); (got - trip.within).Abs() > ms/10 {
			t.Errorf("at %s: within %s, and not %s", now, got, trip.within)
		}
		if off := (e.Ahead() - time.Hour).Abs(); off > e.Within(now) {
			t.Errorf("at %s: off by %s, and said to be within %s", now, off, e.Within(now))
		}
		if e.Jumped() {
			t.Errorf("at %s: it jumped", now)
		}
		if e.Reversed().Ahead() != -e.Ahead() {
			t.Errorf("reversed: %s", e.Reversed().Ahead())
		}
	}
}

// A clock that jumps is noticed, also by a slow trip, and for good.
func TestJumped(t *testing.T) {
	e := Estimate{}.With(0, time.Hour+ms, 2*ms).With(time.Second, time.Second+time.Hour+25*ms, time.Second+50*ms)
	if e.Jumped() {
		t.Error("a slow trip is taken for a jump")
	}
	e = e.With(2*time.Second, 2*time.Second+time.Hour+125*ms, 2*time.Second+50*ms)
	if off := (e.Ahead() - time.Hour - 100*ms).Abs(); !e.Jumped() || off > ms {
		t.Errorf("a jump of 100 ms: %+v", e)
	}
	if e = e.With(3*time.Second, 3*time.Second+time.Hour+101*ms, 3*time.Second+2*ms); !e.Jumped() {
		t.Error("it forgot a jump")
	}
}
