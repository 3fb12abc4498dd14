package hosttest

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func TestDecide(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	about := func(mean float64) func() []float64 {
		return func() []float64 {
			if random.IntN(10) == 0 { // the machine halts
				return []float64{mean + 1000*random.Float64()}
			}
			return []float64{mean + random.NormFloat64()}
		}
	}
	evenly := func(mean float64) func() []float64 {
		return func() []float64 { return []float64{mean + random.NormFloat64()} }
	}
	soon := time.Now().Add(time.Minute)
	for _, test := range []struct {
		name   string
		sample func() []float64
		until  time.Time
		want   decision
	}{
		{"in the middle", about(50), soon, inside},
		{"far above", about(56), soon, outside},
		{"far below", about(44), soon, outside},
		{"on the bound", evenly(52), soon, open},
		{"a little above", evenly(52.5), soon, outside},
		{"no time", about(50), time.Now(), open},
		{"no number", func() []float64 { return []float64{math.NaN()} }, soon, open},
	} {
		missed := 0
		var last string
		for range 1000 {
			if said, got := decide(48, 52, lastLook, test.until, test.sample); got != test.want {
				missed, last = missed+1, said
			}
		}
		if missed > 3 { // of 1000, as intervals of 4 standard deviations may
			t.Errorf("%s: %d of 1000 are not %v, the last: %s", test.name, missed, test.want, last)
		}
	}
}
