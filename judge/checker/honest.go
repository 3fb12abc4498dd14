package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSDKHonest = Entry{
	Claim: verdict.Claim{Name: "sdk-honest", Severity: verdict.P1, Of: verdict.SDK, Wire: true,
		Text:   "A client library reports a message as published only after the broker acknowledged it: the sender MUST treat the PUBLISH packet as unacknowledged until it has received the corresponding PUBACK (QoS 1) or PUBCOMP (QoS 2).",
		Source: "MQTT 3.1.1 sections 4.3.2 [MQTT-4.3.2-1] and 4.3.3 [MQTT-4.3.3-1]"},
	Category: Safety, Checker: "honest@5", Protocols: mqtt, New: newHonest, canary: claimUnacked,
}

// honest judges a client library that says a publish is done. The broker's
// acknowledgement must have been on the wire before it said so first. QoS 0 has no
// acknowledgement; such a message must have been sent. A message that a dying connection
// lost after the kernel had taken it is not held against the library.
type honest struct {
	ledger *ledger
	judged int64
	found  findings
	quick  []word   // QoS 0, until all that was sent is known
	said   []bitmap // by stream: publishes that were said to be done
}

// A word is one saying that a publish is done.
type word struct {
	process, stream int32
	seq, row, time  int64
	told            bool
}

func newHonest(ctx Context) Checker {
	return &honest{ledger: ctx.ledger, said: make([]bitmap, len(ctx.ledger.tables.Streams))}
}

func (c *honest) fork() Checker {
	f := *c
	f.found, f.quick, f.said = c.found.fork(), slices.Clone(c.quick), forks(c.said, bitmap.fork)
	return &f
}

func (c *honest) Add(b *history.Batch) {
	rows := c.ledger.rows(b)
	told := rows.told
	for _, i := range rows.published { // both in their order: the first word counts
		for len(told) > 0 && told[0] < i {
			c.take(b, int(told[0]), true)
			told = told[1:]
		}
		if b.Edge[i] == history.Return {
			c.take(b, int(i), false)
		}
	}
	for _, i := range told {
		c.take(b, int(i), true)
	}
}

func (c *honest) take(b *history.Batch, i int, told bool) {
	if !c.ledger.tests(b.Process[i]) || b.Outcome[i] != history.OK || uint32(b.Stream[i]) >= uint32(len(c.ledger.tables.Streams)) {
		return
	}
	w := word{b.Process[i], b.Stream[i], b.Seq[i], b.Index[i], b.Time[i], told}
	if !c.said[w.stream].add(w.seq) {
		return
	}
	if c.ledger.tables.Streams[w.stream].QoS == 0 {
		if len(c.quick) < 1<<20 {
			c.quick = append(c.quick, w)
		}
		return
	}
	if !c.ledger.wire.heard(w.process) {
		return
	}
	f := c.ledger.wire.from(w.stream, w.seq)
	if f != nil && f.shared { // its driver may have taken another message's acknowledgement for its
		return
	}
	c.judged++
	switch {
	case f == nil:
		c.accuse(w, "it was never sent")
	case f.acked < 0 && f.state == done && c.ledger.refusals(w.process): // its driver cannot see that it was refused
	case f.acked < 0:
		c.accuse(w, "no acknowledgement", int64(f.first))
	case int64(f.acked) > w.row:
		c.accuse(w, "the acknowledgement only later", int64(f.first), int64(f.acked))
	}
}

func (c *honest) accuse(w word, what string, rows ...int64) {
	l := c.ledger
	says := "was called acknowledged"
	if w.told {
		says = "was said to the application to be done"
	}
	fault := l.fault(w.time)
	a := verdict.Anomaly{
		Kind: "false-ack", Process: w.process, Stream: w.stream, Seq: w.seq, TimeNS: w.time, Fault: fault,
		Text: sentence("%s %s at %s%s", l.message(w.stream, w.seq), says, clock(w.time), under(fault)), Events: events(w.row),
	}
	l.accuse(&a, bySDK(what, rows...))
	c.found.add(a)
}

// unsent reports whether a message of QoS 0 was certainly not sent: the
// messages before and behind it were, on one connection.
func (w *wire) unsent(stream int32, seq int64) bool {
	if w.from(stream, seq) != nil {
		return false
	}
	const near = 64
	var before, behind *flow
	for i := int64(1); i <= near && before == nil; i++ {
		before = w.from(stream, seq-i)
	}
	for i := int64(1); i <= near && behind == nil; i++ {
		behind = w.from(stream, seq+i)
	}
	return before != nil && behind != nil && before.conn == behind.conn
}

func (c *honest) Result(*closing) verdict.Result {
	for _, w := range c.quick {
		if !c.ledger.wire.heard(w.process) {
			continue
		}
		c.judged++
		if c.ledger.wire.unsent(w.stream, w.seq) {
			c.accuse(w, "that it was never sent, and what was called after it was")
		}
	}
	r := c.found.judged(c.judged, map[string]int64{"judged": c.judged, "false_acks": c.found.total}, "no publish was said to be done")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("all of %d publishes that were said to be done had been acknowledged on the wire before", c.judged)
	case verdict.Fail:
		r.Summary = summary("%d of %d publishes were said to be done before the broker had acknowledged them, the first: %s", c.found.total, c.judged, r.Anomalies[0].Text)
	}
	return r
}

// claimUnacked has a publish called done that was never sent.
func claimUnacked(ctx Context) *mutation {
	l := ctx.ledger
	first := func(b *history.Batch) int {
		list := l.rows(b).published
		done := func(i int32) bool { return b.Edge[i] == history.Return && b.Outcome[i] == history.OK && b.QoS[i] > 0 }
		if i := slices.IndexFunc(list, done); i >= 0 {
			return int(list[i])
		}
		return -1
	}
	return uncalled(l, "no publish of QoS 1 or 2 was called done", first, func(e history.Event) string {
		return sentence("called %s done, which was never sent", l.message(e.Stream, e.Seq))
	})
}
