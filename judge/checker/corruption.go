package checker

import (
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimNoCorruption = Entry{
	Claim: verdict.Claim{Name: "no-corruption", Severity: verdict.P0, Gated: true,
		Text:   "The payload is application data: its content is the application's, and arrives as it was sent.",
		Source: "MQTT 3.1.1 section 3.3.3"},
	Category: Safety, Checker: "corruption@2", Protocols: every, Rests: history.PromiseProtocol, New: newCorruption, canary: corrupt,
	ByHand: true, Excused: excused("the fault changes what is stored", "bit_rot"),
	Notice: Notice{"corrupted deliveries", "mqtt/broker-kill-9"},
}

// corruption judges that payloads arrive as they were sent, in deliveries and in reads of retained
// messages.
type corruption struct {
	ledger *ledger
	seen   int64 // deliveries
	read   int64 // reads with a message
	found  findings
}

func newCorruption(ctx Context) Checker { return &corruption{ledger: ctx.ledger} }

func (c *corruption) Add(b *history.Batch) {
	rows := c.ledger.rows(b)
	for _, d := range rows.delivered {
		c.seen++
		if d.flags.Has(history.FlagCorrupt) {
			c.corrupt(b, int(d.i))
		}
	}
	for _, i := range rows.control {
		damaged := b.Flags[i].Has(history.FlagCorrupt)
		if b.Kind[i] != history.KindFetch || b.Edge[i] != history.Return || b.Seq[i] < 0 && !damaged {
			continue
		}
		c.read++
		if damaged {
			c.corrupt(b, int(i))
		}
	}
}

func (c *corruption) corrupt(b *history.Batch, i int) {
	l, fault := c.ledger, c.ledger.fault(b.Time[i])
	text := sentence("the checksum of what reached %s at %s does not match", l.process(b.Process[i]), clock(b.Time[i]))
	if b.Stream[i] >= 0 && b.Seq[i] >= 0 { // its header is intact
		text = sentence("%s reached %s damaged at %s: its checksum does not match", l.message(b.Stream[i], b.Seq[i]), l.process(b.Process[i]), clock(b.Time[i]))
	}
	a := verdict.Anomaly{
		Kind: "corrupted", Process: b.Process[i], Stream: b.Stream[i], Seq: b.Seq[i], TimeNS: b.Time[i],
		Fault: fault, Events: events(b.Index[i]),
		Text: text + under(fault),
	}
	l.accuse(&a, l.wire.damagedBy(b.Process[i], b.Index[i], spoiled))
	c.found.add(a)
}

func (c *corruption) Result(*closing) verdict.Result {
	came, counts := summary("%d deliveries", c.seen), map[string]int64{"delivered": c.seen, "corrupted": c.found.total}
	if c.read > 0 {
		came, counts["read"] = came+summary(" and %d reads", c.read), c.read
	}
	r := c.found.judged(c.seen+c.read, counts, "nothing was delivered")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("the checksums of %s match", came)
	case verdict.Fail:
		r.Summary = summary("%d of %s are corrupted, the first: %s", c.found.total, came, r.Anomalies[0].Text)
	}
	return r
}

func (c *corruption) fork() Checker {
	f := *c
	f.found = c.found.fork()
	return &f
}

// corrupt flips the checksum of the first delivery.
func corrupt(ctx Context) *mutation {
	m := &mutation{idle: "nothing was delivered"}
	m.apply = func(b *history.Batch) *history.Batch {
		list := ctx.ledger.rows(b).delivered
		if m.did != "" || len(list) == 0 {
			return b
		}
		i := list[0].i
		m.did = sentence("corrupted the delivery in row %d", b.Index[i])
		return reflagged(b, int(i), b.Flags[i]|history.FlagCorrupt)
	}
	return m
}
