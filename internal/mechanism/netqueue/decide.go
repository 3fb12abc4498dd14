package netqueue

import (
	"math"
	"math/rand/v2"
	"time"
)

// A decider decides about one packet after the other. It draws the same number
// of random numbers for each, whatever they say, so that a seed decides the same
// for the n-th.
type decider struct {
	Treatment
	enter, leave float64
	inBad        bool
	hits, delays *rand.Rand
}

// Streams of random numbers that are independent of each other.
const (
	hitStream = iota + 1
	delayStream
	probeStreams = 16 // added for probes, which must not move the system's sequence
)

func newDecider(t Treatment, stream uint64) *decider {
	d := &decider{
		Treatment: t,
		hits:      rand.New(rand.NewPCG(t.Seed, stream+hitStream)),
		delays:    rand.New(rand.NewPCG(t.Seed, stream+delayStream)),
	}
	if t.Burst > 0 {
		d.enter, d.leave = t.transitions()
	}
	return d
}

// hit decides whether the next packet is hit.
func (d *decider) hit() bool {
	if d.Burst == 0 {
		return d.hits.Float64()*100 < d.Percent
	}
	change, lose := d.hits.Float64(), d.hits.Float64()
	if d.inBad {
		d.inBad = change >= d.leave
	} else {
		d.inBad = change < d.enter
	}
	return d.inBad && lose < d.bad()
}

// A Pareto distribution of this shape, from 1 up, has this mean and this
// standard deviation; netem's has the same shape.
const (
	paretoShape = 3
	paretoMean  = 1.5
)

func paretoDeviation() float64 { return math.Sqrt(0.75) }

// delay is how long the next packet is held.
func (d *decider) delay() time.Duration {
	if d.Jitter == 0 {
		return d.Delay
	}
	var x float64
	switch d.Distribution {
	case Normal:
		x = d.delays.NormFloat64()
	case Pareto:
		x = (math.Pow(1-d.delays.Float64(), -1.0/paretoShape) - paretoMean) / paretoDeviation()
	default:
		x = 2*d.delays.Float64() - 1
	}
	return max(0, d.Delay+time.Duration(x*float64(d.Jitter)))
}
