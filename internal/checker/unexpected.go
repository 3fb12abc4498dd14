package checker

import (
	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/verdict"
)

// unexpected judges that nothing is delivered which was never sent, or to
// somebody who did not subscribe to it.
type unexpected struct {
	ledger   *ledger
	seen     int64
	suspects []suspect
}

// A suspect is a delivery whose publish was not recorded yet, or for which no
// filter is known yet. A driver flushes the call before it sends, but another
// driver's delivery may be recorded first.
type suspect struct {
	process, stream int32
	seq, index, t   int64
	foreign         bool
}

func newUnexpected(ctx Context) Checker { return &unexpected{ledger: ctx.ledger} }

func (c *unexpected) Add(b *history.Batch) {
	route, sends := c.ledger.route, c.ledger.sends
	for _, d := range c.ledger.rows(b).delivered {
		if d.flags.Has(history.FlagCorrupt) {
			continue
		}
		c.seen++
		i, s := d.i, b.Stream[d.i]
		foreign := d.flags.Has(history.FlagForeign) || uint32(s) >= uint32(len(sends.streams))
		if !foreign && d.pair >= 0 && route.pairs[d.pair].takes() && sends.find(s, d.seq) != nil {
			continue
		}
		if len(c.suspects) < 1<<20 {
			c.suspects = append(c.suspects, suspect{b.Process[i], s, d.seq, b.Index[i], b.Time[i], foreign})
		}
	}
}

func (q pair) takes() bool { return q.filters > 0 || q.shared > 0 }

func (c *unexpected) Result() verdict.Result {
	var found findings
	var misrouted, foreign int64
	for _, s := range c.suspects {
		text := ""
		switch {
		case s.foreign:
			foreign++
			text = sentence("%s was delivered a payload that is not of this run", c.ledger.process(s.process))
		case c.ledger.sends.find(s.stream, s.seq) == nil:
			text = sentence("%s was delivered to %s and was never sent", c.ledger.message(s.stream, s.seq), c.ledger.process(s.process))
		case s.process < 0 || !c.ledger.sessions.takes(s.process, c.ledger.topic(s.stream)):
			misrouted++
			text = sentence("%s was delivered to %s, which has no subscription that matches", c.ledger.message(s.stream, s.seq), c.ledger.process(s.process))
		default:
			continue
		}
		fault := c.ledger.fault(s.t)
		found.add(verdict.Anomaly{
			Kind: "unexpected", Process: s.process, Stream: s.stream, Seq: s.seq, TimeNS: s.t,
			Fault: fault, Events: events(s.index), Text: text + " at " + clock(s.t) + under(fault),
		})
	}
	r := found.judged(c.seen, map[string]int64{
		"delivered": c.seen, "unexpected": found.total, "misrouted": misrouted, "foreign": foreign,
	}, "nothing was delivered")
	switch r.Status {
	case verdict.Pass:
		r.Summary = sentence("all of %d deliveries had been sent, to a subscriber", c.seen)
	case verdict.Fail:
		r.Summary = sentence("%d of %d deliveries were unexpected, the first: %s", found.total, c.seen, r.Anomalies[0].Text)
	}
	return r
}

// corruption judges that payloads arrive as they were sent.
type corruption struct {
	ledger *ledger
	seen   int64
	found  findings
}

func newCorruption(ctx Context) Checker { return &corruption{ledger: ctx.ledger} }

func (c *corruption) Add(b *history.Batch) {
	for _, d := range c.ledger.rows(b).delivered {
		c.seen++
		if d.flags.Has(history.FlagCorrupt) {
			c.corrupt(b, int(d.i))
		}
	}
}

func (c *corruption) corrupt(b *history.Batch, i int) {
	fault := c.ledger.fault(b.Time[i])
	c.found.add(verdict.Anomaly{
		Kind: "corrupted", Process: b.Process[i], Stream: b.Stream[i], Seq: b.Seq[i], TimeNS: b.Time[i],
		Fault: fault, Events: events(b.Index[i]),
		Text: sentence("the checksum of what reached %s at %s does not match%s", c.ledger.process(b.Process[i]), clock(b.Time[i]), under(fault)),
	})
}

func (c *corruption) Result() verdict.Result {
	r := c.found.judged(c.seen, map[string]int64{"delivered": c.seen, "corrupted": c.found.total}, "nothing was delivered")
	switch r.Status {
	case verdict.Pass:
		r.Summary = sentence("the checksums of %d deliveries match", c.seen)
	case verdict.Fail:
		r.Summary = sentence("%d of %d deliveries are corrupted, the first: %s", c.found.total, c.seen, r.Anomalies[0].Text)
	}
	return r
}
