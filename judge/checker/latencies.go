package checker

import (
	"math"
	"math/bits"
	"slices"
)

// steps is into how many buckets each doubling of a latency is divided: what a
// quantile says is right to one part in so many.
const steps = 32

// latencies count how long something took, in buckets that grow with it, so that
// any number of them costs no more than a few kilobytes.
type latencies struct {
	count []uint32
	n     int64
}

func (l *latencies) add(ns int64) {
	at := place(max(ns, 0))
	if at >= len(l.count) {
		l.count = append(l.count, make([]uint32, at+1-len(l.count))...)
	}
	l.count[at]++
	l.n++
}

// place is the bucket of a time: one for each microsecond up to steps of them,
// then steps for each doubling.
func place(ns int64) int {
	us := uint64(ns) / 1000
	over := bits.Len64(us/steps) - 1
	if over < 1 {
		return int(us)
	}
	return over*steps + int(us>>over)
}

// least is the shortest time of a bucket.
func least(at int) int64 {
	over := at/steps - 1
	if over < 1 {
		return int64(at) * 1000
	}
	return int64(at-over*steps) << over * 1000
}

// quantile is the shortest latency that at least a share of all do not exceed
// (nearest rank), to its bucket; 0 of none.
func (l *latencies) quantile(share float64) int64 {
	rank, seen := int64(math.Ceil(share*float64(l.n)))-1, int64(0)
	for at, n := range l.count {
		if seen += int64(n); seen > rank {
			return least(at)
		}
	}
	return 0
}

// join counts in what another counted.
func (l *latencies) join(other latencies) {
	if more := len(other.count) - len(l.count); more > 0 {
		l.count = append(l.count, make([]uint32, more)...)
	}
	for at, n := range other.count {
		l.count[at] += n
	}
	l.n += other.n
}

func (l latencies) fork() latencies {
	l.count = slices.Clone(l.count)
	return l
}
