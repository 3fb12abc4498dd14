package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimQoS2ExactlyOnce = Entry{
	Claim: verdict.Claim{Name: "qos2-exactly-once", Severity: verdict.P0, Gated: true,
		Text:   "QoS 2, exactly once delivery: neither loss nor duplication of messages are acceptable.",
		Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-1], [MQTT-4.3.3-2]"},
	Category: Idempotency, Checker: "once@8", Protocols: mqtt, Rests: history.PromiseDurability, New: exactlyOnce, canary: repeat(2, dedupes),
	Unjudged: func(c Circumstances) string {
		if !c.Wire && (!c.Dedupes || slices.Contains(c.Cannot, contract.CannotExactlyOnce)) {
			return "the client library passes every copy on, and packets are not recorded"
		}
		return ""
	},
	Notice: Notice{"duplicates of QoS 2", "mqtt/publish-crash-reconnect"},
}

var claimQoS0AtMostOnce = Entry{
	Claim: verdict.Claim{Name: "qos0-at-most-once", Severity: verdict.P2, Gated: true,
		Text:   "QoS 0, at most once delivery: the message arrives at the receiver either once or not at all.",
		Source: "MQTT 3.1.1 section 4.3.1"},
	Category: Idempotency, Checker: "once@8", Protocols: mqtt, Rests: history.PromiseProtocol, New: atMostOnce, canary: repeat(0, anyone),
	Excused: excused("packet_duplicate makes one message two to the broker", "packet_duplicate"),
	Notice:  Notice{"duplicates of QoS 0", "mqtt/qos-roundtrip"},
}

var claimSDKOnce = Entry{
	Claim: verdict.Claim{Name: "sdk-once", Severity: verdict.P1, Of: verdict.SDK, Wire: true,
		Text:   "Until it has received the corresponding PUBREL packet, the receiver MUST acknowledge any subsequent PUBLISH packet with the same Packet Identifier by sending a PUBREC. It MUST NOT cause duplicate messages to be delivered to any onward recipients in this case.",
		Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-2]"},
	Category: Idempotency, Checker: "once@8", Protocols: mqtt, New: takenOnce, canary: repeat(2, dedupes),
}

// once judges that a message of its QoS reaches an application at most once. A message
// that its producer sends again in a new session may come again, and one copy may come in each of
// two sessions of a subscriber.
type once struct {
	ledger *ledger
	qos    uint8
	judges []bool // processes that can be judged
	sent   []bool // streams whose producer sends a message once
	taker  bool   // judge the subscriber's client alone, by the wire
	blames bool   // the wire tells whose doing a second one is, whatever the SDKs cannot show
	first  []marks
	seen   int64        // deliveries judged
	early  []repetition // before the call of their producer was recorded
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
		twice := qos == 2 && uint32(st.Producer) < uint32(len(l.tables.Processes)) && slices.Contains(l.tables.Processes[st.Producer].Cannot, contract.CannotExactlyOnce)
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
			if c.ledger.sends.find(b.Stream[i], b.Seq[i]) == nil { // what its producer did comes later
				c.early = append(c.early, repetition{b.Process[i], b.Stream[i], b.Seq[i], b.Index[i], b.Time[i], earlier})
				continue
			}
			c.again(repetition{b.Process[i], b.Stream[i], b.Seq[i], b.Index[i], b.Time[i], earlier})
		}
	}
}

func (c *once) settled() bool { return c.found.total > 0 }

// takes reports whether a second delivery like this one would be the broker's.
func (c *once) takes(b *history.Batch, d delivery) bool {
	p, l := b.Process[d.i], c.ledger
	return d.pair >= 0 && l.route.pairs[d.pair].due() == c.qos && l.route.pairs[d.pair].sent == c.qos && (c.blames || c.shows(p, b.Stream[d.i])) && l.plain(d) &&
		l.sessions.lowest(p, b.Stream[d.i]) >= c.qos
}

// shows reports whether the SDKs alone leave a second delivery to the broker.
func (c *once) shows(process, stream int32) bool { return c.judges[process] && c.sent[stream] }

// plain reports whether a delivery is of one subscription alone, neither a
// retained copy nor damaged: only then is a second one a repetition.
func (l *ledger) plain(d delivery) bool {
	q := l.route.pairs[d.pair]
	return d.flags&(history.FlagRetain|history.FlagCorrupt) == 0 && q.filters+q.shared <= 1
}

// A repetition is a delivery of a message that the process had.
type repetition struct {
	process, stream     int32
	seq, row, at, first int64
}

func (c *once) again(r repetition) {
	l, p, s, seq := c.ledger, r.process, r.stream, r.seq
	a := verdict.Anomaly{
		Kind: "duplicated", Process: p, Stream: s, Seq: seq, TimeNS: r.at,
		Fault: l.fault(r.at), Events: events(r.first, r.row), Expected: c.qos == 2 && l.kills.took(l.calledAt(s, seq), r.at),
	}
	if c.qos == 2 && l.twoSessions(p, s, seq, r.at) {
		return
	}
	a.Text = sentence("%s reached %s again at %s%s", l.message(s, seq), l.process(p), clock(r.at), under(a.Fault))
	if c.taker {
		if to := l.wire.to(p, s, seq); to == nil || to.begun > 1 || to.shared {
			return
		}
	}
	if by := l.wire.repeatedBy(p, s, seq, c.qos); by.by != "" || !c.taker { // which blames the library in any case
		l.accuse(&a, by)
	}
	if a.Blame != "" || c.shows(p, s) && (c.taker || !l.renewed(s, seq)) {
		c.found.add(a)
	}
}

// twoSessions reports whether the copies of a message may be one in each of two sessions of a
// process, of which the second began until a time, and soon after the message. Packets that were
// recorded show it.
func (l *ledger) twoSessions(process, stream int32, seq, at int64) bool {
	m := l.sends.find(stream, seq)
	if to := l.wire.to(process, stream, seq); m == nil || l.wire.heard(process) && (to == nil || to.renewed == 0 || to.anew() > 1) {
		return false
	}
	return slices.ContainsFunc(l.sessions.of[process].renewals, func(r renewal) bool {
		return m.called-l.apart <= r.back && r.back <= at && (m.unknown() || r.back <= m.acked+longAgo)
	})
}

func (c *once) Result(*closing) verdict.Result {
	for _, r := range c.early {
		c.again(r)
	}
	c.early = nil
	r := c.found.judged(c.seen, map[string]int64{"delivered": c.seen, "duplicated": c.found.total},
		sentence("no delivery of QoS %d could be judged%s", c.qos, c.whyNot()))
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("none of %d deliveries of QoS %d came twice", c.seen, c.qos)
	case verdict.Fail:
		r.Summary = summary("%d of %d deliveries of QoS %d came again, the first: %s", c.found.total, c.seen, c.qos, r.Anomalies[0].Text)
	}
	return r
}

// whyNot says why the SDKs cannot show what the broker did, "" where they can. Some
// hand duplicates to the application, others send duplicates themselves.
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

// repeat delivers one message twice: the first that the checker can judge.
func repeat(qos uint8, judges func(history.Process) bool) func(Context) *mutation {
	return func(ctx Context) *mutation {
		l := ctx.ledger
		c := newOnce(l, qos, judges)
		return oneRow("no delivery of that QoS can be judged", func(b *history.Batch, d delivery) (*history.Batch, string) {
			i := int(d.i)
			if !c.takes(b, d) || l.renewed(b.Stream[i], b.Seq[i]) {
				return nil, ""
			}
			return with(b, i, b.Event(i)), sentence("delivered %s to %s twice", l.message(b.Stream[i], b.Seq[i]), l.process(b.Process[i]))
		}, l)
	}
}

func dedupes(p history.Process) bool { return p.Dedupes }

func anyone(history.Process) bool { return true }

func (c *once) fork() Checker {
	f := *c
	f.first, f.early, f.found = forks(c.first, marks.fork), slices.Clone(c.early), c.found.fork()
	return &f
}
