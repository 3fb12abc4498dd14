package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimMQ9Priority = Entry{
	Claim: verdict.Claim{Name: "mq9-priority", Severity: verdict.P2, Gated: true,
		Text:   "Across priorities, higher priority is processed first: critical before urgent before normal in what a fetch answers. The storage layer guarantees ordering, consumers do not need to sort themselves.",
		Source: "mq9 protocol.md, Core Concepts and Priority Description"},
	Category: Ordering, Checker: "priority@1", Protocols: mq9, Rests: history.PromiseMailboxes, New: newPriority, canary: invert,
}

// priority judges that in the answer to one fetch no message stands behind one of a
// lower priority. A message in a later answer is not compared: it may have been sent
// meanwhile.
type priority struct {
	ledger *ledger
	looks  *looks
	of     []rung // by process
	seen   int64
	mixed  int64 // answers with messages of several priorities
	found  findings
}

// A rung is how far a process has gone down an answer.
type rung struct {
	rank    int   // of the lowest message so far; -1 before the first
	index   int64 // its row
	several bool
}

func newPriority(ctx Context) Checker {
	return &priority{ledger: ctx.ledger, looks: newLooks(ctx.Tables, false), of: make([]rung, len(ctx.Tables.Processes))}
}

// rank of a stream's messages: the first to be delivered is 0.
func (l *ledger) rank(stream int32) int {
	return slices.Index([]string{"critical", "urgent", "normal", ""}, l.tables.Streams[stream].Priority)
}

func (c *priority) Add(b *history.Batch) {
	for i := range b.N {
		at := c.looks.row(b, i)
		if b.Kind[i] == history.KindFetch && b.Edge[i] == history.Call && uint32(b.Process[i]) < uint32(len(c.of)) {
			c.of[b.Process[i]] = rung{rank: -1}
		}
		if at == nil || b.Stream[i] < 0 || c.ledger.topic(b.Stream[i]) != at.mailbox {
			continue
		}
		c.seen++
		r, rank := &c.of[b.Process[i]], c.ledger.rank(b.Stream[i])
		if r.rank >= 0 && rank != r.rank && !r.several {
			r.several = true
			c.mixed++
		}
		if rank < r.rank {
			c.inverted(b, i, r)
			continue
		}
		r.rank, r.index = rank, b.Index[i]
	}
}

func (c *priority) inverted(b *history.Batch, i int, behind *rung) {
	l := c.ledger
	fault := l.fault(b.Time[i])
	c.found.add(verdict.Anomaly{
		Kind: "inverted", Process: b.Process[i], Stream: b.Stream[i], Seq: b.Seq[i], TimeNS: b.Time[i],
		Fault: fault, Events: events(behind.index, b.Index[i]),
		Text: sentence("%s reached %s at %s behind a message of a lower priority in the same answer%s",
			l.message(b.Stream[i], b.Seq[i]), l.process(b.Process[i]), clock(b.Time[i]), under(fault)),
	})
}

func (c *priority) Result(*closing) verdict.Result {
	r := c.found.judged(c.mixed, map[string]int64{"deliveries": c.seen, "answers": c.mixed, "inverted": c.found.total},
		"no answer that was seen had messages of several priorities")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("%d answers with messages of several priorities had the higher before the lower", c.mixed)
	case verdict.Fail:
		r.Summary = summary("%d messages stood behind one of a lower priority in the same answer, the first: %s", c.found.total, r.Anomalies[0].Text)
	}
	return r
}

func (c *priority) fork() Checker {
	f := *c
	f.looks, f.of, f.found = c.looks.fork(), slices.Clone(c.of), c.found.fork()
	return &f
}

// invert lets, in one answer, two messages of different priorities change
// places.
func invert(ctx Context) *mutation {
	l, seen := ctx.ledger, newLooks(ctx.Tables, false)
	m := &mutation{idle: "no answer had messages of several priorities, one after the other"}
	m.apply = func(b *history.Batch) *history.Batch {
		before, from := map[int32]int{}, map[int32]int64{} // row of the last delivery, and the call of its fetch
		for i := range b.N {
			at := seen.row(b, i)
			if m.did != "" || at == nil || b.Stream[i] < 0 || l.topic(b.Stream[i]) != at.mailbox {
				continue
			}
			p := b.Process[i]
			j, ok := before[p]
			if ok && from[p] == at.called && l.rank(b.Stream[j]) < l.rank(b.Stream[i]) {
				m.did = sentence("let %s and %s change places on their way to %s", l.message(b.Stream[j], b.Seq[j]), l.message(b.Stream[i], b.Seq[i]), l.process(p))
				out := exchanged(b, i, j)
				out.Stream = slices.Clone(b.Stream[:b.N])
				out.Stream[i], out.Stream[j] = b.Stream[j], b.Stream[i]
				return out
			}
			before[p], from[p] = i, at.called
		}
		return b
	}
	return m
}
