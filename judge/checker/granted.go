package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimQoSGranted = Entry{
	Claim: verdict.Claim{Name: "qos-granted", Severity: verdict.P2,
		Text:   "The QoS of Payload Messages sent in response to a Subscription MUST be the minimum of the QoS of the originally published message and the maximum QoS granted by the Server.",
		Source: "MQTT 3.1.1 section 3.8.4 [MQTT-3.8.4-6]; MQTT 5.0 section 3.8.4 [MQTT-3.8.4-8]"},
	Category: Safety, Checker: "granted@1", Protocols: mqtt, Rests: history.PromiseProtocol, New: newGranted, canary: raise,
}

// granted judges the QoS that deliveries come with. The granted QoS may be recorded
// behind the first deliveries, so it is looked up only at the end.
type granted struct {
	ledger *ledger
	grant  []uint8 // by process: the QoS that SUBACK granted, noGrant before one was seen
	came   [][3]arrivals
	seen   int64
}

// arrivals are the deliveries of one pair that came with one QoS.
type arrivals struct {
	n           int64
	index, time int64 // of the first
	seq         int64
}

const noGrant = 0x80

func newGranted(ctx Context) Checker {
	l := ctx.ledger
	return &granted{
		ledger: l,
		grant:  slices.Repeat([]uint8{noGrant}, len(l.tables.Processes)),
		came:   make([][3]arrivals, len(l.route.pairs)),
	}
}

func (c *granted) Add(b *history.Batch) {
	rows := c.ledger.rows(b)
	for _, i := range rows.control {
		p := b.Process[i]
		if b.Kind[i] == history.KindSubscribe && b.Edge[i] == history.Return && b.Outcome[i] == history.OK && uint32(p) < uint32(len(c.grant)) {
			c.grant[p] = b.Reason[i]
		}
	}
	for _, d := range rows.delivered {
		if d.pair < 0 || b.QoS[d.i] > 2 || !c.ledger.plain(d) {
			continue
		}
		if a := &c.came[d.pair][b.QoS[d.i]]; a.n == 0 {
			*a = arrivals{1, b.Index[d.i], b.Time[d.i], d.seq}
		} else {
			a.n++
		}
	}
}

func (c *granted) Result(*closing) verdict.Result {
	var found findings
	var wrong int64
	for i := range c.came {
		p, s := int32(i/c.ledger.route.streams), int32(i%c.ledger.route.streams)
		if c.grant[p] > 2 || slices.Contains(c.ledger.tables.Processes[p].Cannot, contract.CannotGrantedQoS) {
			continue
		}
		due := min(c.ledger.tables.Streams[s].QoS, c.grant[p])
		for qos, a := range c.came[i] {
			c.seen += a.n
			if a.n == 0 || uint8(qos) == due {
				continue
			}
			wrong += a.n
			v := verdict.Anomaly{
				Kind: "wrong QoS", Process: p, Stream: s, Seq: a.seq, TimeNS: a.time,
				Fault: c.ledger.fault(a.time), Events: events(a.index),
			}
			v.Text = sentence("%s reached %s with QoS %d, granted was %d; with it %d further ones of this stream", c.ledger.message(s, a.seq), c.ledger.process(p), qos, c.grant[p], a.n-1)
			c.ledger.accuse(&v, c.ledger.wire.raisedBy(p, s, a.seq, a.index, c.grant[p], uint8(qos)))
			found.add(v)
		}
	}
	r := found.judged(c.seen, map[string]int64{"delivered": c.seen, "wrong_qos": wrong}, "nothing was delivered on a subscription that was granted a QoS")
	switch r.Status {
	case verdict.Pass:
		r.Summary = sentence("all of %d deliveries came with the lower of the published and the granted QoS", c.seen)
	case verdict.Fail:
		r.Summary = sentence("%d of %d deliveries came with a wrong QoS, the first: %s", wrong, c.seen, r.Anomalies[0].Text)
	}
	return r
}

// raise delivers the first message of each stream to each subscriber with a QoS other
// than its own.
func raise(ctx Context) *mutation {
	l := ctx.ledger
	raised := make([]bool, len(l.route.pairs))
	m := &mutation{idle: "nothing was delivered"}
	m.apply = func(b *history.Batch) *history.Batch {
		c := b
		for _, d := range l.rows(b).delivered {
			if d.pair < 0 || raised[d.pair] || !l.plain(d) {
				continue
			}
			if c == b {
				changed := *b
				changed.QoS = slices.Clone(b.QoS[:b.N])
				c = &changed
			}
			c.QoS[d.i] = (b.QoS[d.i] + 1) % 3
			raised[d.pair] = true
			m.did = "delivered the first message of each stream to each subscriber with another QoS"
		}
		return c
	}
	return m
}

func (c *granted) fork() Checker {
	f := *c
	f.grant, f.came = slices.Clone(c.grant), slices.Clone(c.came)
	return &f
}
