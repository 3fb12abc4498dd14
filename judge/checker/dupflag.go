package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimQoS1DupFlag = Entry{
	Claim: verdict.Claim{Name: "qos1-dup-flag", Severity: verdict.P3,
		Text:   "The DUP flag MUST be set to 1 by the Client or Server when it attempts to re-deliver a PUBLISH Packet.",
		Source: "MQTT 3.1.1 section 3.3.1.1 [MQTT-3.3.1-1]"},
	Category: Safety, Checker: "dup@3", Protocols: mqtt, Rests: history.PromiseDup, New: newDupFlag, canary: unflag,
	Shown: contract.CannotDup, Excused: excused("packet_duplicate makes one message two to the broker", "packet_duplicate"),
	ByPackets: "packets are not recorded, and a message under another packet id needs no DUP",
	Notice:    Notice{"messages of QoS 1 that came again on one connection without DUP", "mqtt/qos-roundtrip"},
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
		c.sees[i] = !slices.Contains(p.Cannot, contract.CannotDup)
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

func (c *dupFlag) Result(*closing) verdict.Result {
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
		r.Summary = summary("%d of %d deliveries of QoS 1 were repetitions on the same connection, each of them with DUP or published again", c.judged, c.seen)
	case verdict.Fail:
		r.Summary = summary("%d deliveries of QoS 1 were repeated without DUP, the first: %s", found.total, r.Anomalies[0].Text)
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

func (c *dupFlag) fork() Checker {
	f := *c
	f.conn, f.doubts = forks(c.conn, marks.fork), slices.Clone(c.doubts)
	return &f
}

// unflag repeats a delivery on its connection without DUP. It does so at the end: until
// then the broker may send a message once more with another packet id, which needs no DUP.
func unflag(ctx Context) *mutation {
	l := ctx.ledger
	const kept = 8 // of each pair
	var first []history.Event
	seen := make([]int8, len(l.route.pairs))
	m := &mutation{idle: "no delivery of QoS 1 can be judged"}
	m.apply = func(b *history.Batch) *history.Batch {
		for _, d := range l.rows(b).delivered {
			i := int(d.i)
			if d.pair < 0 || seen[d.pair] == kept || b.QoS[i] != 1 || !l.plain(d) || slices.Contains(l.tables.Processes[b.Process[i]].Cannot, contract.CannotDup) {
				continue
			}
			if sent := l.sends.find(b.Stream[i], b.Seq[i]); sent != nil && sent.outcome == history.OK {
				first = append(first, b.Event(i))
				seen[d.pair]++
			}
		}
		return b
	}
	m.end = func() []history.Event {
		for _, e := range first {
			sent := l.sends.find(e.Stream, e.Seq)
			if l.sentTwice(e.Stream, sent) || l.wire.another(e.Process, e.Stream, e.Seq) {
				continue
			}
			e.Flags &^= history.FlagDup
			m.did = sentence("delivered %s to %s twice, without DUP", l.message(e.Stream, e.Seq), l.process(e.Process))
			return []history.Event{e, e} // it may have come on another connection meanwhile
		}
		return nil
	}
	return m
}
