package netqueue

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

const many = 100_000

func decisions(t Treatment, n int) []bool {
	d := newDecider(t, 0)
	out := make([]bool, n)
	for i := range out {
		out[i] = d.hit()
	}
	return out
}

func share(hits []bool) (n int) {
	for _, h := range hits {
		if h {
			n++
		}
	}
	return n
}

// Hits is how many of the first n packets a treatment hits.
func Hits(t Treatment, n int) int { return share(decisions(t, n)) }

func TestSameSeedSameDecisions(t *testing.T) {
	for _, tr := range []Treatment{{Percent: 10, Seed: 7}, {Percent: 10, Burst: 5, Seed: 7}, {Percent: 10, Burst: 5, BadPercent: 50, Seed: 7}} {
		a := decisions(tr, many)
		if !slices.Equal(a, decisions(tr, many)) {
			t.Errorf("%+v decided twice, and differently", tr)
		}
		other := tr
		other.Seed = 8
		if slices.Equal(a, decisions(other, many)) {
			t.Errorf("%+v: another seed decides the same", tr)
		}
	}
}

// Ten percent of 100,000, within three standard deviations.
func TestRandomLoss(t *testing.T) {
	for seed := range uint64(20) {
		got := share(decisions(Treatment{Percent: 10, Seed: seed}, many))
		if sigma := math.Sqrt(many * 0.1 * 0.9); math.Abs(float64(got)-many/10) > 3.5*sigma {
			t.Errorf("seed %d: %d of %d", seed, got, many)
		}
	}
}

func TestBursts(t *testing.T) {
	for _, tr := range []Treatment{{Percent: 10, Burst: 5, Seed: 1}, {Percent: 2, Burst: 20, Seed: 2}, {Percent: 30, Burst: 10, Seed: 3}} {
		hits := decisions(tr, 10*many)
		var runs int
		for i, h := range hits {
			if h && (i == 0 || !hits[i-1]) {
				runs++
			}
		}
		lost := share(hits)
		mean := float64(lost) / float64(runs)
		if percent := float64(lost) / float64(len(hits)) * 100; math.Abs(percent-tr.Percent) > tr.Percent/10 || math.Abs(mean-tr.Burst) > tr.Burst/10 {
			t.Errorf("%+v: %.2f percent in bursts of %.2f", tr, percent, mean)
		}
	}
}

func TestDistributions(t *testing.T) {
	for _, name := range Distributions() {
		d := newDecider(Treatment{Delay: 100 * time.Millisecond, Jitter: 10 * time.Millisecond, Distribution: Distribution(name)}, 0)
		var sum, squares float64
		for range many {
			ms := d.delay().Seconds() * 1e3
			sum += ms
			squares += (ms - 100) * (ms - 100)
		}
		mean, deviation := sum/many, math.Sqrt(squares/many)
		want := 10.0
		if name == string(Uniform) {
			want = 10 / math.Sqrt(3)
		}
		if math.Abs(mean-100) > 0.2 || math.Abs(deviation-want) > want/5 {
			t.Errorf("%s: mean %.2f ms, standard deviation %.2f; want 100, %.2f", name, mean, deviation, want)
		}
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		t    Treatment
		want string
	}{
		{Treatment{Do: Drop, Percent: 10}, ""},
		{Treatment{Do: "lose", Percent: 10}, `no action "lose"`},
		{Treatment{Do: Drop}, "0 percent of packets"},
		{Treatment{Do: Drop, Percent: math.NaN()}, "NaN percent"},
		{Treatment{Do: Delay, Percent: 100}, "a delay of 0s"},
		{Treatment{Do: Delay, Percent: 100, Delay: 5, Jitter: 6, Distribution: Uniform}, "a jitter of 6ns"},
		{Treatment{Do: Delay, Percent: 100, Delay: 5, Jitter: 6, Distribution: Pareto}, ""},
		{Treatment{Do: Delay, Percent: 100, Delay: 5, Jitter: 5, Distribution: "flat"}, `no distribution "flat"`},
		{Treatment{Do: Drop, Percent: 10, Burst: 0.5}, "bursts of 0.5 packets"},
		{Treatment{Do: Drop, Percent: 10, Burst: 2, BadPercent: 10}, "10 percent hit in bad states"},
		{Treatment{Do: Drop, Percent: 90, Burst: 2}, "ask for longer bursts or fewer percent"},
	}
	for _, test := range tests {
		err := test.t.Check()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v, want %q", test.t, err, test.want)
		}
	}
}
