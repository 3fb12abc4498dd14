package scenarios

import "math"

// RateWithin returns the highest rate, in messages a second of all publishers together,
// at which no more messages of QoS 1 and 2 than a limit wait for any subscriber after a
// time in seconds.
func (w Workload) RateWithin(limit, seconds float64) float64 {
	stored := 0.0
	for _, qos := range w.QoS {
		if qos > 0 {
			stored += 1 / float64(len(w.QoS))
		}
	}
	rate := math.Inf(1)
	if s := w.Subscribers; stored > 0 {
		if s.Offline+s.Paused > 0 {
			rate = min(rate, limit/seconds)
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
