package checker

import (
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimMQ9OneWorker = Entry{
	Claim: verdict.Claim{Name: "mq9-one-worker", Severity: verdict.P2, Gated: true,
		Text:   "Workers of one group each fetch, process the message and acknowledge it, after which the broker advances the group's offset, so that no other worker receives the same message.",
		Source: "mq9 website/docs/faq.md, How do multiple workers compete to consume the same mailbox?"},
	Category: Idempotency, Checker: "oneworker@2", Protocols: mq9, Rests: history.PromiseMailboxes, New: newOneWorker, canary: employ,
	Notice: Notice{"messages that a worker had acknowledged, and another one of its group was delivered", "mq9/workers"},
}

// oneWorker judges that no worker of a group gets what another one had acknowledged
// before the fetch. Workers that fetch at the same time may be given the same messages: a
// broker that moves the offset by acknowledgements alone does not know of them. Such
// messages are counted.
type oneWorker struct {
	*offsets
	got    *receipts
	judged int64 // deliveries to workers after another one had acknowledged something
	found  findings
}

func newOneWorker(ctx Context) Checker {
	return &oneWorker{offsets: newOffsets(ctx), got: ctx.receipts}
}

func (c *oneWorker) fork() Checker {
	f := *c
	f.offsets, f.got, f.found = c.offsets.fork(), c.got.fork(), c.found.fork()
	return &f
}

func (c *oneWorker) Add(b *history.Batch) {
	c.got.addOwn(b)
	if len(c.ledger.route.groups) == 0 {
		return
	}
	for i := range b.N {
		if d, ok := c.row(b, i); ok {
			c.judge(b, i, d)
		}
	}
}

func (c *oneWorker) judge(b *history.Batch, i int, d fetched) {
	judged := false
	for _, other := range c.others(d) {
		before, any := c.acknowledged(d, other)
		judged = judged || any
		if before != nil {
			c.repeated(b, i, d, other, before)
			break
		}
	}
	if judged {
		c.judged++
	}
}

// others are the other workers of the group as which a delivery was read.
func (c *offsets) others(d fetched) (list []int32) {
	g := c.ledger.route.get(d.process, d.stream).group
	if g == history.None {
		return nil
	}
	for _, p := range c.ledger.route.groups[g].members {
		if p != d.process {
			list = append(list, p)
		}
	}
	return list
}

func (c *oneWorker) repeated(b *history.Batch, i int, d fetched, other int32, before *confirm) {
	l := c.ledger
	fault := l.fault(b.Time[i])
	c.found.add(verdict.Anomaly{
		Kind: "repeated", Process: d.process, Stream: d.stream, Seq: d.seq, TimeNS: b.Time[i],
		Fault: fault, Events: events(before.row, b.Index[i]),
		Text: sentence("%s (id %d) reached %s at %s; %s of its group had received it and acknowledged id %d at %s, before the fetch%s",
			l.message(d.stream, d.seq), d.id, l.process(d.process), clock(b.Time[i]), l.process(other), before.id, clock(before.time), under(fault)),
	})
}

func (c *oneWorker) Result(*closing) verdict.Result {
	several := c.several()
	r := c.found.judged(c.judged, map[string]int64{"deliveries": c.judged, "repeated": c.found.total, "several": several},
		"no worker was delivered anything after another one of its group had acknowledged something")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("none of %d deliveries to workers was of a message that another one of the group had acknowledged before the fetch", c.judged)
		if several > 0 {
			r.Summary += summary("; %d messages reached more than one worker, by fetches that no acknowledgement came before", several)
		}
	case verdict.Fail:
		r.Summary = summary("%d of %d deliveries to workers were of messages that another one of the group had acknowledged before the fetch, the first: %s", c.found.total, c.judged, r.Anomalies[0].Text)
	}
	return r
}

// several counts the messages that reached more than one worker of a group.
func (c *oneWorker) several() (n int64) {
	for g, group := range c.ledger.route.groups {
		for s := range c.ledger.tables.Streams {
			var one, more bitmap
			for _, p := range group.members {
				if c.ledger.route.get(p, int32(s)).group != int32(g) {
					continue
				}
				c.got.got(p, int32(s)).each(0, &bitmap{}, func(seq int64) {
					if !one.add(seq) {
						more.add(seq)
					}
				})
			}
			n += more.n
		}
	}
	return n
}

// employ delivers to a worker, in place of another message, one that another worker of its
// group had acknowledged before.
func employ(ctx Context) *mutation {
	l, c := ctx.ledger, newOffsets(ctx)
	m := &mutation{idle: "no worker was delivered anything after another one of its group had acknowledged something"}
	had := map[ladder]mail{} // the first of each
	m.apply = func(b *history.Batch) *history.Batch {
		for i := range b.N {
			if m.did != "" {
				return b
			}
			d, ok := c.row(b, i)
			if !ok {
				continue
			}
			for _, other := range c.others(d) {
				old, ok := had[ladder{other, d.mailbox, d.rank}]
				if !ok {
					continue
				}
				if before, _ := c.acknowledged(fetched{old, d.ladder, d.called}, other); before != nil {
					m.did = sentence("delivered %s, which %s had acknowledged, to %s", l.message(old.stream, old.seq), l.process(other), l.process(d.process))
					return with(b, i, again(b, i, old))
				}
			}
			if _, ok := had[d.ladder]; !ok {
				had[d.ladder] = d.mail
			}
		}
		return b
	}
	return m
}
