package scenarios

import "math"

// RateWithin returns the highest rate, in messages a second of all publishers together,
// at which no more messages of QoS 1 and 2 than a limit wait for any subscriber after a
// time in seconds.
func (w Workload) RateWithin(limit, seconds float64) float64 {
	stored := float64(w.stored()) / float64(len(w.QoS))
	rate := math.Inf(1)
	if s := w.Subscribers; stored > 0 {
		if s.Offline+s.Paused > 0 {
			rate = min(rate, (limit-float64(w.Markers()))/seconds)
		}
		if s.Slow > 0 && w.SlowMS > 0 {
			rate = min(rate, limit/seconds+1000/float64(w.SlowMS))
		}
		if s.Visiting > 0 && w.VisitS > 0 {
			rate = min(rate, limit/w.VisitS)
		}
	}
	return rate / stored
}

// Markers returns how many end markers of QoS 1 and 2 are published, one for each
// stream. They wait for a subscriber as messages do.
func (w Workload) Markers() int {
	return w.stored() * w.Producers() * (w.Streams + w.Registers + len(w.Topics))
}

// stored counts the qualities of service whose messages wait for a subscriber.
func (w Workload) stored() (n int) {
	for _, qos := range w.QoS {
		if qos > 0 {
			n++
		}
	}
	return n
}
