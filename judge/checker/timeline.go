package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// bucket is the resolution of a timeline.
const bucket = int64(10e6)

// maxBuckets bounds a timeline to a day: a time beyond is a broken clock.
const maxBuckets = 24 * 3600 * 100

// A timeline counts acknowledged publishes by time. Rows of different drivers
// are not recorded in order of time, so it does not rely on their order.
type timeline struct {
	count []int32
	last  []int64 // Index of the last row in the bucket, where there is one
}

func (t *timeline) add(at, index int64) {
	i := at / bucket
	if at < 0 || i >= maxBuckets {
		return
	}
	if i >= int64(len(t.count)) {
		more := max(int(i)+1, 2*len(t.count), 256) - len(t.count)
		t.count = append(t.count, make([]int32, more)...)
		t.last = append(t.last, make([]int64, more)...)
	}
	t.count[i]++
	t.last[i] = index
}

// perSecond is the rate from one time to another.
func (t *timeline) perSecond(from, to int64) float64 {
	if to-from < bucket {
		return 0
	}
	return float64(t.between(from, to)) / (float64(to-from) / 1e9)
}

// between counts from one time to another, in whole buckets.
func (t *timeline) between(from, to int64) (n int64) {
	for i := max(0, from/bucket); i < min(to/bucket, int64(len(t.count))); i++ {
		n += int64(t.count[i])
	}
	return n
}

// A silence is a time without acknowledged publishes, and the rows around it.
type silence struct {
	from, to      int64
	before, after int64 // Index; None at the end of publishing
}

func (s silence) length() int64 { return s.to - s.from }

// silences calls f with each time of at least a bucket without a publish
// between the first one and the end of publishing.
func (t *timeline) silences(end int64, f func(silence)) {
	last := int64(-1)
	for i, n := range t.count {
		if n == 0 {
			continue
		}
		if last >= 0 && int64(i) > last+1 {
			f(silence{(last + 1) * bucket, int64(i) * bucket, t.last[last], t.last[i]})
		}
		last = int64(i)
	}
	if last >= 0 && end > (last+1)*bucket {
		f(silence{(last + 1) * bucket, end, t.last[last], history.None})
	}
}

// acknowledged reports whether row i, a row of a publish, shows success: the broker
// acknowledged it, or at QoS 0 the client sent it.
func acknowledged(b *history.Batch, i int) bool {
	return b.Edge[i] == history.Return && b.Outcome[i] == history.OK
}

func (t timeline) fork() timeline { return timeline{slices.Clone(t.count), slices.Clone(t.last)} }
