// Package offset estimates how far the clock of another machine is ahead of this one's, from what
// went there and back.
package offset

import "time"

// drift is how far the clocks of machines drift apart, in parts of the time that passes.
const drift = 20e-6

// An Estimate is what the quickest round trip showed: half of the trip is the way there (RFC 5905,
// section 8). Slower trips show less, unless the quickest is so old that the clocks may have drifted
// further apart. The zero Estimate knows nothing.
type Estimate struct {
	trip, ahead time.Duration
	at          time.Duration // when, by the clock here
	jumped      bool
}

// With returns what is known after another trip: sent and back by the clock here, there by the other
// one.
func (e Estimate) With(sent, there, back time.Duration) Estimate {
	trip := back - sent
	now := Estimate{trip: max(trip, 1), ahead: there - sent - trip/2, at: back, jumped: e.jumped}
	if e.Known() && (now.ahead-e.ahead).Abs() > now.Within(back)+e.Within(back) {
		now.jumped = true
		return now
	}
	if e.Known() && trip > 2*e.Within(back) {
		return e
	}
	return now
}

// Jumped reports whether two trips contradict each other: a clock was set or slewed, or a machine slept.
func (e Estimate) Jumped() bool { return e.jumped }

// Known reports whether there was a trip.
func (e Estimate) Known() bool { return e.trip > 0 }

// Ahead is by how much the other clock is ahead.
func (e Estimate) Ahead() time.Duration { return e.ahead }

// Within is the bound of Ahead's error at a time.
func (e Estimate) Within(now time.Duration) time.Duration {
	return e.trip/2 + time.Duration(drift*float64(now-e.at))
}

// Reversed is the same as seen from the other machine.
func (e Estimate) Reversed() Estimate {
	e.ahead = -e.ahead
	return e
}
