package history

import "time"

// A Clock counts from the start of a run on the machine's monotonic clock,
// which every process on the host shares. Copies are the same clock.
type Clock struct {
	start int64 // MonotonicNow at the start of the run
}

// NewClock starts a run's clock.
func NewClock() Clock { return Clock{start: MonotonicNow()} }

// Now is the time since the start of the run.
func (c Clock) Now() time.Duration { return c.At(MonotonicNow()) }

// At converts an absolute CLOCK_MONOTONIC reading of any process on this host, in
// nanoseconds, to the time since the start of the run. It is negative for a reading
// before the start.
func (c Clock) At(monotonicNS int64) time.Duration {
	return time.Duration(monotonicNS - c.start)
}

// ClocksWithin bounds the error of times that drivers on other machines took by their own clocks. A
// driver whose clock is not known so well is lost.
const ClocksWithin = 10 * time.Millisecond
