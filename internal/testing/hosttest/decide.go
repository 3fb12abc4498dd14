package hosttest

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

// When a figure is decided on. The interval is one of 4 standard deviations, which
// errs once in 16,000 looks; there are at most six.
const (
	firstLook   = 20 // samples; then twice as many, and so on
	lastLook    = 640
	deviations  = 4
	decideBound = 30 * time.Second
)

// Decide holds a figure of a real kernel or broker against its bounds: at least low
// and at most high. A sample should have its control in it, as a difference or a
// ratio of two things that were measured together. Sampling goes on until the
// confidence interval of the median lies within the bounds, or outside, which fails
// the test. If neither happens on a machine, the test fails as not measured, which
// says nothing about the tested code.
//
// The interval is one of ranks, which a machine that halts now and then moves little
// (Conover, Practical Nonparametric Statistics, 3.2).
func Decide(t testing.TB, what string, low, high float64, sample func() []float64) {
	t.Helper()
	said, decided := decide(low, high, lastLook, time.Now().Add(decideBound), sample)
	switch decided {
	case inside:
		t.Logf("%s: %s", what, said)
	case outside:
		t.Errorf("%s: %s", what, said)
	default:
		t.Fatalf("%s: not measured: %s", what, said)
	}
}

type decision int

const (
	open decision = iota
	inside
	outside
)

func decide(low, high float64, most int, until time.Time, sample func() []float64) (said string, d decision) {
	var all []float64
	for look := firstLook; d == open && look <= most; look *= 2 {
		for len(all) < look && time.Now().Before(until) {
			all = append(all, sample()...)
		}
		from, to := interval(all)
		said = fmt.Sprintf("%.4g to %.4g by %d samples, must be %.4g to %.4g", from, to, len(all), low, high)
		switch {
		case len(all) < look: // no time
			return said, open
		case from >= low && to <= high:
			d = inside
		case to < low || from > high:
			d = outside
		}
	}
	return said, d
}

// interval is that of the median; without end where there are too few samples.
func interval(all []float64) (from, to float64) {
	sorted := slices.Sorted(slices.Values(all))
	n := float64(len(sorted))
	i := int(math.Floor(n/2 - deviations*math.Sqrt(n)/2))
	if i < 0 || len(sorted) == 0 {
		return math.Inf(-1), math.Inf(1)
	}
	return sorted[i], sorted[len(sorted)-1-i]
}
