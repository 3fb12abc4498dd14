package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/verdict"
)

// once judges that a message of its QoS reaches an application at most once.
type once struct {
	ledger *ledger
	qos    uint8
	judges []bool // processes that can be judged
	sent   []bool // streams whose producer sends a message once
	taker  bool   // judge the subscriber's client alone, by the wire
	blames bool   // the wire tells whose doing a second one is, whatever the SDKs cannot show
	first  []marks
	seen   int64 // deliveries judged
	found  findings
}

func exactlyOnce(ctx Context) Checker {
	return newOnce(ctx.ledger, 2, dedupes)
}

func takenOnce(ctx Context) Checker {
	c := newOnce(ctx.ledger, 2, dedupes)
	c.taker = true
	for i := range c.judges {
		c.judges[i] = c.judges[i] && ctx.ledger.tests(int32(i))
	}
	return c
}

func atMostOnce(ctx Context) Checker {
	return newOnce(ctx.ledger, 0, anyone)
}

func newOnce(l *ledger, qos uint8, judges func(history.Process) bool) *once {
	c := &once{ledger: l, qos: qos, first: make([]marks, len(l.route.pairs)), judges: make([]bool, len(l.tables.Processes))}
	for i, p := range l.tables.Processes {
		c.judges[i] = judges(p)
	}
	for _, st := range l.tables.Streams {
		twice := qos == 2 && uint32(st.Producer) < uint32(len(l.tables.Processes)) && slices.Contains(l.tables.Processes[st.Producer].Cannot, "exactly_once")
		c.sent = append(c.sent, !twice)
	}
	c.blames = l.wire.on && qos == 2
	return c
}

func (c *once) Add(b *history.Batch) {
	for _, d := range c.ledger.rows(b).delivered {
		i := int(d.i)
		if !c.takes(b, d) {
			continue
		}
		c.seen++
		if earlier := c.first[d.pair].swap(d.seq, b.Index[i], false); earlier >= 0 {
			c.again(b, i, earlier)
		}
	}
}

// takes reports whether a second delivery like this one would be the broker's.
func (c *once) takes(b *history.Batch, d delivery) bool {
	p, l := b.Process[d.i], c.ledger
	return d.pair >= 0 && l.route.pairs[d.pair].due() == c.qos && l.route.pairs[d.pair].sent == c.qos && (c.blames || c.shows(p, b.Stream[d.i])) && l.plain(d) &&
		l.sessions.of[p].grant >= c.qos
}

// shows reports whether the SDKs alone leave a second delivery to the broker.
func (c *once) shows(process, stream int32) bool { return c.judges[process] && c.sent[stream] }

// plain reports whether a delivery is of one subscription alone, neither a
// retained copy nor damaged: only then is a second one a repetition.
func (l *ledger) plain(d delivery) bool {
	q := l.route.pairs[d.pair]
	return d.flags&(history.FlagRetain|history.FlagCorrupt) == 0 && q.filters+q.shared <= 1
}

func (c *once) again(b *history.Batch, i int, earlier int64) {
	l, p, s, seq := c.ledger, b.Process[i], b.Stream[i], b.Seq[i]
	a := verdict.Anomaly{
		Kind: "duplicated", Process: p, Stream: s, Seq: seq, TimeNS: b.Time[i],
		Fault: l.fault(b.Time[i]), Events: events(earlier, b.Index[i]),
	}
	a.Text = sentence("%s reached %s again at %s%s", l.message(s, seq), l.process(p), clock(b.Time[i]), under(a.Fault))
	if c.taker {
		if to := l.wire.to(p, s, seq); to == nil || to.begun > 1 {
			return
		}
	}
	l.accuse(&a, l.wire.repeatedBy(p, s, seq, c.qos))
	if a.Blame != "" || c.shows(p, s) {
		c.found.add(a)
	}
}

func (c *once) Result() verdict.Result {
	r := c.found.judged(c.seen, map[string]int64{"delivered": c.seen, "duplicated": c.found.total},
		sentence("no delivery of QoS %d could be judged%s", c.qos, c.whyNot()))
	switch r.Status {
	case verdict.Pass:
		r.Summary = sentence("none of %d deliveries of QoS %d came twice", c.seen, c.qos)
	case verdict.Fail:
		r.Summary = sentence("%d of %d deliveries of QoS %d came again, the first: %s", c.found.total, c.seen, c.qos, r.Anomalies[0].Text)
	}
	return r
}

// whyNot says which SDKs cannot show what the broker did: those which hand
// duplicates to the application, and those which send them.
func (c *once) whyNot() string {
	if c.blames {
		return ""
	}
	if slices.Contains(c.sent, false) {
		return ": the producer's SDK may send a message twice itself, so only the wire can tell"
	}
	if c.qos == 2 && slices.Contains(c.judges, false) {
		return ": an SDK that does not dedupe hands every copy to the application, so only the wire can tell"
	}
	return ""
}

// dupFlag judges that a message which is delivered again on one connection
// says so. Only messages that were sent once count: what a publisher sent
// twice is two messages to a broker.
type dupFlag struct {
	ledger *ledger
	sees   []bool  // processes whose SDK shows the flag
	conn   []marks // on which connection a message was seen last
	seen   int64
	judged int64 // deliveries again on the same connection
	doubts []doubt
}

type doubt struct {
	process, stream int32
	seq, index, t   int64
}

func newDupFlag(ctx Context) Checker {
	l := ctx.ledger
	c := &dupFlag{ledger: l, conn: make([]marks, len(l.route.pairs)), sees: make([]bool, len(l.tables.Processes))}
	for i, p := range l.tables.Processes {
		c.sees[i] = !slices.Contains(p.Cannot, "dup")
	}
	return c
}

func (c *dupFlag) Add(b *history.Batch) {
	l := c.ledger
	for _, d := range l.rows(b).delivered {
		i := int(d.i)
		if d.pair < 0 || b.QoS[i] != 1 || !c.sees[b.Process[i]] || !l.plain(d) {
			continue
		}
		c.seen++
		if c.conn[d.pair].swap(d.seq, int64(b.Conn[i]), true) != int64(b.Conn[i]) {
			continue
		}
		c.judged++
		if !d.flags.Has(history.FlagDup) && len(c.doubts) < 64*maxListed {
			c.doubts = append(c.doubts, doubt{b.Process[i], b.Stream[i], d.seq, b.Index[i], b.Time[i]})
		}
	}
}

func (c *dupFlag) Result() verdict.Result {
	var found findings
	l := c.ledger
	for _, d := range c.doubts {
		m := l.sends.find(d.stream, d.seq)
		if m == nil || m.outcome != history.OK || l.sentTwice(d.stream, m) || l.wire.another(d.process, d.stream, d.seq) {
			continue
		}
		a := verdict.Anomaly{
			Kind: "unflagged", Process: d.process, Stream: d.stream, Seq: d.seq, TimeNS: d.t,
			Fault: l.fault(d.t), Events: events(m.call.index(), m.ret.index(), d.index),
		}
		a.Text = sentence("%s reached %s again on the same connection at %s without DUP%s", l.message(d.stream, d.seq), l.process(d.process), clock(d.t), under(a.Fault))
		l.accuse(&a, l.wire.unflaggedBy(d.process, d.stream, d.seq))
		found.add(a)
	}
	r := found.judged(c.seen, map[string]int64{"delivered": c.seen, "redelivered": c.judged, "unflagged": found.total},
		"no delivery of QoS 1 to an SDK that shows DUP")
	switch r.Status {
	case verdict.Pass:
		r.Summary = sentence("%d of %d deliveries of QoS 1 were repetitions on the same connection, none of them without DUP", c.judged, c.seen)
	case verdict.Fail:
		r.Summary = sentence("%d deliveries of QoS 1 were repeated without DUP, the first: %s", found.total, r.Anomalies[0].Text)
	}
	return r
}

// sentTwice reports whether the publisher connected anew while the message was
// under way, and so may have sent it again.
func (l *ledger) sentTwice(stream int32, m *message) bool {
	p := l.tables.Streams[stream].Producer
	if uint32(p) >= uint32(len(l.sessions.of)) {
		return true
	}
	return slices.ContainsFunc(l.sessions.of[p].connects, func(t int64) bool { return m.called <= t && t <= m.acked })
}
