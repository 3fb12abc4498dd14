package checker

import (
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSDKDelivers = Entry{
	Claim: verdict.Claim{Name: "sdk-delivers", Severity: verdict.P0, Of: verdict.SDK, Wire: true,
		Text:   "A client that sends PUBACK or PUBCOMP has accepted ownership of the application message: it reaches the application.",
		Source: "MQTT 3.1.1 sections 4.3.2 [MQTT-4.3.2-2] and 4.3.3 [MQTT-4.3.3-2]"},
	Category: Durability, Checker: "delivers@4", Protocols: mqtt, New: newDelivers, NeedsComplete: true, canary: withhold,
}

// delivers judges that the messages a client acknowledged to the broker reached its
// application. Messages acknowledged after the last one that reached it are not judged:
// they may have been on their way when the client ended. Nor are those acknowledged in a
// later session than they were sent in: a client without a session answers PUBREL all the
// same.
type delivers struct {
	ledger *ledger
	got    *receipts
}

func newDelivers(ctx Context) Checker { return &delivers{ctx.ledger, ctx.receipts} }

func (c *delivers) fork() Checker { return &delivers{c.ledger, c.got.fork()} }

func (c *delivers) Add(b *history.Batch) { c.got.addOwn(b) }

func (c *delivers) Result(*closing) verdict.Result {
	var found findings
	var judged int64
	l := c.ledger
	for i := range l.wire.handed {
		if q := l.route.pairs[i]; !q.takes() || q.register {
			continue
		}
		process, stream := int32(i/l.route.streams), int32(i%l.route.streams)
		if !l.tests(process) {
			continue
		}
		got, until := &c.got.of[i].got, int32(0)
		l.wire.handed[i].each(func(seq int64, f *flow) {
			if got.has(seq) {
				until = max(until, f.acked)
			}
		})
		l.wire.handed[i].each(func(seq int64, f *flow) {
			if f.acked < 0 || f.acked > until || f.shared || f.revived {
				return
			}
			judged++
			if got.has(seq) {
				return
			}
			a := verdict.Anomaly{
				Kind: "undelivered", Process: process, Stream: stream, Seq: seq, TimeNS: l.calledAt(stream, seq),
				Text: sentence("%s never reached the application of %s", l.message(stream, seq), l.process(process)),
			}
			a.Fault = l.fault(a.TimeNS)
			l.accuse(&a, bySDK("that the broker sent it, and that the client acknowledged it", int64(f.first), int64(f.acked)))
			found.add(a)
		})
	}
	r := found.judged(judged, map[string]int64{"acknowledged": judged, "undelivered": found.total}, "no client acknowledged a message")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("all of %d messages that clients acknowledged reached their application", judged)
	case verdict.Fail:
		r.Summary = summary("%d of %d messages that clients acknowledged never reached their application, the first: %s", found.total, judged, r.Anomalies[0].Text)
	}
	return r
}

// calledAt returns when a message was called, 0 if it was not.
func (l *ledger) calledAt(stream int32, seq int64) int64 {
	if m := l.sends.find(stream, seq); m != nil {
		return m.called
	}
	return 0
}

// withhold drops the deliveries of one message that its client acknowledged.
func withhold(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "no client acknowledged a message that it was delivered"}
	var pair int32
	var seq int64
	m.apply = func(b *history.Batch) *history.Batch {
		list := l.rows(b).delivered
		for _, d := range list {
			if m.did != "" || d.pair < 0 {
				continue
			}
			process, stream := b.Process[d.i], b.Stream[d.i]
			if f := l.wire.to(process, stream, d.seq); f != nil && f.acked >= 0 && f.n == 1 && !f.shared && !f.revived && l.route.pairs[d.pair].takes() && !l.route.pairs[d.pair].register {
				pair, seq = d.pair, d.seq
				m.did = sentence("dropped every delivery of %s to %s", l.message(stream, seq), l.process(process))
			}
		}
		if m.did == "" {
			return b
		}
		return without(b, list, func(d delivery) bool { return d.seq == seq && d.pair == pair })
	}
	return m
}
