package checker

import (
	"math"
	"slices"
)

// A reading is one sample of a quantity.
type reading struct {
	t int64
	v float64
}

// A slope is the growth of a quantity per nanosecond, with the bounds of its confidence
// interval.
type slope struct {
	levels        []float64 // medians of the parts
	at, low, high float64
}

// parts is into how many equal parts the time is divided, and leastReadings how
// many samples each needs, so that one outlier does not move its median.
const (
	parts         = 8
	leastReadings = 3
)

// student is the 99.5th percentile of Student's t with parts-2 degrees of
// freedom: of as many independent increments the two-sided interval holds the
// slope in 99 of 100 cases.
const student = 3.7074280

// slopeOf estimates the slope of the readings between two times. It returns false where
// some part of that time has too few samples.
//
// The time is divided into equal parts. A part's level is its median: an outlier
// moves no median, and what happens within a part is not taken for a trend. The
// slope is the mean of the increments from level to level, its interval that of
// Student's t over the increments.
//
// The resources of a process are rarely noise around a line: they wander with
// allocators and caches, and each value continues the one before. A line fitted to such
// a series seems significant nearly always (Granger and Newbold, Spurious regressions
// in econometrics, J. Econometrics 2, 1974), and so does the Mann-Kendall test with
// Sen's slope, for which aging of software was found where none was (Machida et al., On
// the effectiveness of Mann-Kendall test for detection of software aging, ISSREW 2013).
// Increments of a wandering series are independent, those of noise around a line cancel
// each other, which makes the interval too wide and never too narrow: taking
// differences costs power where it is not needed, and leaving them out gives wrong
// results where it is (Plosser and Schwert, Money, income, and sunspots, J. Monetary
// Economics 4, 1978). Ibragimov and Müller show that few groups and Student's t need no
// estimate of how far dependence reaches, even if the groups differ in variance
// (t-statistic based correlation and heterogeneity robust inference, J. Business &
// Economic Statistics 28, 2010). One step, however high, is no growth: its increments
// are as far apart as it is high.
//
// A random walk's slope of 0 lies below the whole interval in 1.2 of 100 cases,
// and not 0.5, for levels of one part share its last samples with the next (with
// Working, Econometrica 28, 1960); noise's in fewer than 0.1. The test has both.
func slopeOf(list []reading, from, to int64) (slope, bool) {
	in := make([][]float64, parts)
	for _, r := range list {
		if from <= r.t && r.t < to {
			part := int(float64(r.t-from) / float64(to-from) * parts)
			in[min(part, parts-1)] = append(in[min(part, parts-1)], r.v)
		}
	}
	s := slope{}
	for _, values := range in {
		if len(values) < leastReadings {
			return slope{}, false
		}
		s.levels = append(s.levels, median(values))
	}
	const n = parts - 1
	var squares float64
	mean := (s.levels[n] - s.levels[0]) / n
	for i := range n {
		off := s.levels[i+1] - s.levels[i] - mean
		squares += float64(off * off)
	}
	half := student * math.Sqrt(squares/(n-1)/n)
	part := float64(to-from) / parts
	s.at, s.low, s.high = mean/part, (mean-half)/part, (mean+half)/part
	return s, true
}

// median sorts the values.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
