package checker

import (
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimQoS1NoLoss = Entry{
	Claim: verdict.Claim{Name: "qos1-no-loss", Severity: verdict.P0, Gated: true,
		Text:   "QoS 1 ensures that the message arrives at the receiver at least once; once the broker sent PUBACK for a message, it must deliver it to every session that subscribed before.",
		Source: "MQTT 3.1.1 section 4.3.2 [MQTT-4.3.2-2]; sessions: section 4.1 [MQTT-4.1.0-1]"},
	Category: Durability, Checker: "loss@14", Protocols: mqtt, Rests: history.PromiseDurability, New: qos1Loss, NeedsComplete: true, canary: lose(1),
	Unjudged: oneCopy,
	Notice:   Notice{"acknowledged deliveries of QoS 1 that never came", "mqtt/broker-kill-9"},
}

var claimQoS2NoLoss = Entry{
	Claim: verdict.Claim{Name: "qos2-no-loss", Severity: verdict.P0, Gated: true,
		Text:   "QoS 2 is for use when neither loss nor duplication of messages are acceptable; a message whose PUBCOMP was sent is the broker's to deliver to every session that subscribed before.",
		Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-2]; sessions: section 4.1 [MQTT-4.1.0-1]"},
	Category: Durability, Checker: "loss@14", Protocols: mqtt, Rests: history.PromiseDurability, New: qos2Loss, NeedsComplete: true, canary: lose(2),
	Unjudged: oneCopy,
	Notice:   Notice{"acknowledged deliveries of QoS 2 that never came", "mqtt/publish-crash-reconnect"},
}

var claimMQ9NoLoss = Entry{
	Claim: verdict.Claim{Name: "mq9-no-loss", Severity: verdict.P0, Gated: true,
		Text:   "Messages persist until they are fetched or their time is over: one that was answered with its id reaches every group, and is never lost because its recipient is offline.",
		Source: "mq9 protocol.md, MSG.SEND and MSG.FETCH; website/docs/faq.md"},
	Category: Durability, Checker: "loss@14", Protocols: mq9, Rests: history.PromiseMailboxes, New: qos1Loss, NeedsComplete: true, canary: lose(1),
	Unjudged: oneCopy,
	Notice:   Notice{"acknowledged messages that never came", "mq9/mailbox-roundtrip"},
}

// loss judges that acknowledged messages arrive. Each message of its QoS that the
// broker acknowledged must reach every process whose session should have lasted, if its
// subscription was acknowledged before the message was called. A message of unknown
// outcome may arrive or not. A missing message that may still have been on its way does
// not count as lost: without a loss elsewhere the result is then unknown.
type loss struct {
	ledger *ledger
	min    uint8 // QoS of the streams to judge
	max    uint8
	got    *receipts
}

func newLoss(ctx Context, minQoS, maxQoS uint8) *loss {
	return &loss{ledger: ctx.ledger, min: minQoS, max: maxQoS, got: ctx.receipts}
}

func qos1Loss(ctx Context) Checker { return newLoss(ctx, 1, 1) }
func qos2Loss(ctx Context) Checker { return newLoss(ctx, 2, 2) }

func (c *loss) Add(b *history.Batch) { c.got.addOwn(b) }

func (c *loss) Result(end *closing) verdict.Result {
	var found findings
	var excused missCounts
	var due, recovered int64
	var why []string
	c.pairs(func(p, s int32, from int64) {
		st := &c.ledger.sends.streams[s]
		due += st.acked.countFrom(st.since(from))
		recovered += st.recovered(c.got.got(p, s))
		if reason := end.waiting[[2]int32{p, s}]; reason != "" {
			why = append(why, reason)
		}
	})
	c.misses(end, func(m miss) {
		excused[m.why]++
		if m.lost() {
			found.add(c.lost(m))
		}
	})
	due -= excused.weighing(unowed, ofLosses)
	session, waiting := excused[forgotten], excused[inFlight]
	came := c.got.tally(c.min, c.max)
	r := found.judged(due, map[string]int64{
		"due": due, "delivered": came.seen, "lost": found.total, "lost_session": session,
		"lost_message": excused[none], "duplicated": came.again, "duplicated_flagged": came.dup, "recovered": recovered, "waiting": waiting,
	}, "no acknowledged message was due to any persistent subscriber")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("all of %d due deliveries arrived", due)
	case verdict.Fail:
		r.Summary = summary("%d of %d due deliveries were lost%s; first: %s", found.total, due, withSessions(session, found.total), r.Anomalies[0].Text)
		c.stored(&r)
	}
	excused.excuse(&r, ofLosses, c.ledger.queues)
	if r.Status == verdict.Pass && len(why) > 0 {
		r.Summary = summary("%d of %d due deliveries had not arrived when the run ended", waiting, due)
		unsure(&r, excuses[inFlight].why, some(why)...)
	}
	return r
}

// withSessions says how many of the losses the loss of a session explains.
func withSessions(n, of int64) string {
	switch n {
	case 0:
		return ""
	case of:
		return ", all because the broker forgot the session"
	}
	return summary(", %d of them because the broker forgot the session", n)
}

// stored says how many of the messages that the broker had it cannot have stored, where it
// was asked.
func (c *loss) stored(r *verdict.Result) {
	missing, others, topics := c.ledger.storage.missing(c.had)
	if topics == 0 {
		return
	}
	r.Counts["not_stored"] = missing
	if missing > 0 {
		r.Summary += summary(". The broker's own storage has too few messages of the %d topics that it was asked about: at least %d that it acknowledged or delivered are not in it", topics, missing)
		return
	}
	r.Summary += summary(". The broker's own storage has no fewer messages than it acknowledged or delivered of the %d topics that it was asked about", topics)
	if others > 0 {
		r.Summary += summary("; up to %d of unknown outcome or of QoS 0 may be there in their place", others)
	}
}

// had counts the messages of a stream that the broker acknowledged, or delivered to anybody.
func (c *loss) had(stream int32) int64 {
	all := c.ledger.sends.streams[stream].acked.fork()
	for p := range c.ledger.tables.Processes {
		c.got.got(int32(p), stream).each(0, &bitmap{}, func(seq int64) { all.add(seq) })
	}
	return all.n
}

// misses calls f for each acknowledged message that a process did not get.
func (c *loss) misses(end *closing, f func(miss)) {
	capacity := newCapacity(c.ledger)
	c.pairs(func(p, s int32, from int64) {
		st, to, waits := &c.ledger.sends.streams[s], []int32{p}, end.waiting[[2]int32{p, s}] != ""
		st.acked.each(st.since(from), c.got.got(p, s), func(seq int64) {
			f(miss{to, history.None, s, seq, capacity.why(s, seq, waits, to...)})
		})
	})
}

// pairs calls f for each process and stream to judge, with the time from which messages
// are due.
func (c *loss) pairs(f func(process, stream int32, from int64)) {
	l := c.ledger
	for p := range l.tables.Processes {
		for s, row := range l.tables.Streams {
			if row.QoS < c.min || row.QoS > c.max || !l.lasts(int32(s)) {
				continue
			}
			if from := l.owed(int32(p), int32(s)); from != never {
				f(int32(p), int32(s), from)
			}
		}
	}
}

func (c *loss) lost(is miss) verdict.Anomaly {
	l, p, s, seq := c.ledger, is.members[0], is.stream, is.seq
	m := l.sends.find(s, seq)
	a := verdict.Anomaly{
		Kind: verdict.KindLost, Process: p, Stream: s, Seq: seq, TimeNS: m.acked,
		Fault: l.fault(m.acked), Events: events(m.call.index(), m.ret.index()),
	}
	why := ""
	if is.why == forgotten {
		why = "; its session was lost"
	}
	a.Text = sentence("%s never reached %s: acknowledged at %s%s%s", l.message(s, seq), l.process(p), clock(m.acked), under(a.Fault), why)
	a.Expected = l.kills.took(m.acked, never)
	if is.why == forgotten {
		a.Expected = l.kills.tookSession(0, l.sessions.of[p].relost)
	}
	l.accuse(&a, l.wire.lostBy(p, s, seq))
	return a
}

// recovered returns how many messages of unknown outcome were delivered all the same.
func (st *stream) recovered(got *bitmap) (n int64) {
	got.each(0, &st.acked, func(seq int64) {
		if m := st.messages.at(seq); m != nil && m.unknown() {
			n++
		}
	})
	return n
}

// lose drops the deliveries of one acknowledged message to one process.
func lose(qos uint8) func(Context) *mutation {
	return func(ctx Context) *mutation {
		l := ctx.ledger
		m := &mutation{idle: "no acknowledged message was delivered to a persistent subscriber"}
		high := make([]int64, len(l.route.pairs))
		var pair int32
		var seq int64
		choose := func(b *history.Batch) {
			for _, d := range l.rows(b).delivered {
				if d.pair < 0 {
					continue
				}
				first := d.seq >= high[d.pair]
				high[d.pair] = max(high[d.pair], d.seq+1)
				process, stream := b.Process[d.i], b.Stream[d.i]
				if first && l.route.pairs[d.pair].sent == qos && l.certain(stream, d.seq, l.owed(process, stream)) {
					pair, seq = d.pair, d.seq
					m.did = sentence("dropped every delivery of %s to %s", l.message(stream, seq), l.process(process))
					return
				}
			}
		}
		m.apply = func(b *history.Batch) *history.Batch {
			if m.did == "" {
				choose(b)
			}
			if m.did == "" {
				return b
			}
			return without(b, l.rows(b).delivered, func(d delivery) bool { return d.seq == seq && d.pair == pair })
		}
		return m
	}
}

func (c *loss) fork() Checker {
	f := *c
	f.got = c.got.fork()
	return &f
}
