package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// clocks widen what is compared with the times of other clients if these have clocks of their own:
// subscriptions, reads, and the writes of registers. Their calls count as so early, and their returns as
// so late, as the clocks of both may be wrong. The order of one client's own messages is exact, and all
// other claims have margins of seconds.
type clocks struct {
	by       int64 // nanoseconds; 0: all clients have one clock
	register []bool
	times    []int64
}

func newClocks(ctx Context) *clocks {
	c := &clocks{by: 2 * int64(ctx.Run.ClocksS*1e9)}
	for _, s := range ctx.Tables.Streams {
		c.register = append(c.register, s.Register)
	}
	return c
}

// widened returns a batch that is valid until the next call.
func (c *clocks) widened(b *history.Batch) *history.Batch {
	if c.by == 0 {
		return b
	}
	out := *b
	c.times = append(c.times[:0], b.Time[:b.N]...)
	out.Time = c.times
	for i := range b.N {
		if b.Process[i] < 0 || !c.compared(b, i) {
			continue
		}
		switch b.Edge[i] {
		case history.Call:
			out.Time[i] -= c.by
		case history.Return:
			out.Time[i] += c.by
		}
	}
	return &out
}

func (c *clocks) compared(b *history.Batch, i int) bool {
	if s := b.Stream[i]; b.Kind[i] == history.KindPublish {
		return uint32(s) < uint32(len(c.register)) && c.register[s]
	}
	return slices.Contains([]history.Kind{history.KindSubscribe, history.KindUnsubscribe, history.KindFetch}, b.Kind[i])
}
