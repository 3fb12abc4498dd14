package checker

import (
	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/verdict"
)

// order judges that the messages of one stream first arrive in the order in
// which they were sent. Repetitions may come at any time: 1 2 3 2 3 4 is in
// order. A gap that is never filled is the business of no-loss, and is only
// counted.
type order struct {
	ledger *ledger
	lines  []line
	seen   int64
	found  findings
}

// A line is what one process has of one stream.
type line struct {
	got   bitmap
	last  int64 // highest number so far, plus one
	index int64 // of its row
}

func newOrder(ctx Context) Checker {
	return &order{ledger: ctx.ledger, lines: make([]line, len(ctx.ledger.route.pairs))}
}

func (c *order) Add(b *history.Batch) {
	l := c.ledger
	for _, d := range l.rows(b).delivered {
		if !l.ordered(b, d) {
			continue
		}
		line, seq := &c.lines[d.pair], b.Seq[d.i]
		if !line.got.add(seq) {
			continue
		}
		c.seen++
		if seq >= line.last {
			line.last, line.index = seq+1, b.Index[d.i]
			continue
		}
		c.late(b, int(d.i), line)
	}
}

// ordered reports whether a delivery has a place in an order: not a retained
// copy, not one of a shared subscription, not a register's.
func (l *ledger) ordered(b *history.Batch, d delivery) bool {
	return d.pair >= 0 && b.Flags[d.i]&(history.FlagRetain|history.FlagCorrupt) == 0 &&
		l.route.pairs[d.pair].shared == 0 && !l.tables.Streams[b.Stream[d.i]].Register
}

func (c *order) late(b *history.Batch, i int, line *line) {
	l, p, s, seq := c.ledger, b.Process[i], b.Stream[i], b.Seq[i]
	a := verdict.Anomaly{
		Kind: "nonmonotonic", Process: p, Stream: s, Seq: seq, TimeNS: b.Time[i],
		Fault: l.fault(b.Time[i]), Events: events(line.index, b.Index[i]),
	}
	a.Text = sentence("%s first reached %s at %s, after number %d%s", l.message(s, seq), l.process(p), clock(b.Time[i]), line.last-1, under(a.Fault))
	c.found.add(a)
}

func (c *order) Result() verdict.Result {
	var skipped, pairs int64
	for i := range c.lines {
		if n := c.lines[i].got.n; n > 0 {
			pairs++
			skipped += c.lines[i].last - n
		}
	}
	r := c.found.judged(c.seen, map[string]int64{
		"first_deliveries": c.seen, "nonmonotonic": c.found.total, "skipped": skipped, "pairs": pairs,
	}, "nothing was delivered that has an order")
	switch r.Status {
	case verdict.Pass:
		r.Summary = sentence("%d first deliveries came in order, over %d pairs of stream and subscriber", c.seen, pairs)
	case verdict.Fail:
		r.Summary = sentence("%d of %d first deliveries came out of order, the first: %s", c.found.total, c.seen, r.Anomalies[0].Text)
	}
	return r
}
