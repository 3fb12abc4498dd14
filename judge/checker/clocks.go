package checker

import (
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// clocks widen what is compared with the times of other clients if these have clocks of their own:
// subscriptions, reads, and the writes of registers. Their calls count as so early, and their returns as
// so late, as the clocks of both may be wrong: half of that if both sides of a comparison are widened. Other
// comparisons across clients use [ledger.apart], or have margins of seconds.
type clocks struct {
	apart    int64 // nanoseconds; 0: all clients have one clock
	register []bool
	mq9      []bool // by process
	times    []int64
}

// disagreement is how far two clients may be apart about a time, in nanoseconds.
func disagreement(run *history.Run) int64 { return 2 * int64(run.ClocksS*1e9) }

func newClocks(ctx Context) *clocks {
	c := &clocks{apart: disagreement(ctx.Run)}
	for _, p := range ctx.Tables.Processes {
		c.mq9 = append(c.mq9, p.Protocol == contract.MQ9)
	}
	for _, s := range ctx.Tables.Streams {
		c.register = append(c.register, s.Register)
	}
	return c
}

// widened returns a batch that is valid until the next call.
func (c *clocks) widened(b *history.Batch) *history.Batch {
	if c.apart == 0 {
		return b
	}
	out := *b
	c.times = append(c.times[:0], b.Time[:b.N]...)
	out.Time = c.times
	for i := range b.N {
		switch b.Edge[i] {
		case history.Call:
			out.Time[i] -= c.by(b, i)
		case history.Return:
			out.Time[i] += c.by(b, i)
		}
	}
	return &out
}

// by is by how much a row is widened.
func (c *clocks) by(b *history.Batch, i int) int64 {
	p, s := b.Process[i], b.Stream[i]
	switch b.Kind[i] {
	case history.KindPublish:
		if uint32(s) < uint32(len(c.register)) && c.register[s] {
			return c.apart / 2
		}
	case history.KindFetch:
		switch {
		case uint32(p) >= uint32(len(c.mq9)):
		case c.mq9[p]: // publishes to mailboxes are not widened
			return c.apart
		default:
			return c.apart / 2
		}
	case history.KindSubscribe, history.KindUnsubscribe:
		if p >= 0 {
			return c.apart
		}
	}
	return 0
}
