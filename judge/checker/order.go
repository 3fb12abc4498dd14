package checker

import (
	"iter"
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimOrderPerStream = Entry{
	Claim: verdict.Claim{Name: "order-per-stream", Severity: verdict.P2, Gated: true,
		Text:   "A Server MUST by default treat each Topic as an Ordered Topic: PUBLISH packets of a client, a topic and a QoS are sent to consumers in the order in which they were received.",
		Source: "MQTT 3.1.1 section 4.6 [MQTT-4.6.0-5], [MQTT-4.6.0-6]; MQTT 5.0 section 4.6 [MQTT-4.6.0-5]"},
	Category: Ordering, Checker: "order@5", Protocols: mqtt, Rests: history.PromiseOrder, New: newOrder, canary: swap,
	Excused: map[string]string{"packet_duplicate": "packet_duplicate makes one message two to the broker", "packet_drop": "a message that never came is sent again later"},
	Unjudged: func(c Circumstances) string {
		switch {
		case len(c.Faults) > 0 && !slices.Contains(c.Promises, "order-per-stream"):
			return "few vendors promise order across faults, and this one does not"
		case c.Reorders:
			return "the broker redelivers out of order, by its own documentation"
		}
		return ""
	},
	Notice: Notice{"deliveries out of order", "mqtt/order-across-failover"},
}

var claimMQ9Fifo = Entry{
	Claim: verdict.Claim{Name: "mq9-fifo", Severity: verdict.P2, Gated: true,
		Text:   "Within one priority messages are delivered in the order in which they were stored.",
		Source: "mq9 protocol.md, priorities"},
	Category: Ordering, Checker: "order@7", Protocols: mq9, Rests: history.PromiseMailboxes, New: newOrder, canary: swap,
	Notice: Notice{"deliveries out of order", "mq9/concurrent-writers"},
}

// order judges that the messages of one stream first arrive in the order in which the
// broker had them from their producer. Messages that a producer sent again on a new
// connection may have come behind new ones there: they are counted and not judged,
// except those acknowledged before. A repetition, by its DUP or by the wire, is not
// judged if the subscriber had to come back meanwhile: its first copy, which was in
// order, may have ended with the connection. Repetitions may come at any time: 1 2 3 2
// 3 4 is in order. A gap that is never filled is only counted; no-loss judges it.
// Messages of one QoS alone have an order: with several filters a client may get the
// copies of one stream with several. Those of another topic or mailbox than their own have none:
// no-unexpected judges them.
type order struct {
	ledger *ledger
	places *places
	lines  []line           // by pair, of the QoS that came first
	others map[copies]*line // of every other QoS
	seen   int64
	late   []lateRow
	again  map[copied]struct{} // the first of them
}

// copied is a message that a process got more than once.
type copied struct {
	process, stream int32
	seq             int64
}

// maxCopied is how many of those are known, for a word beside a violation.
const maxCopied = 1 << 16

// A lateRow is a first delivery behind one with a higher number.
type lateRow struct {
	process, stream int32
	seq             int64
	behind          rank // the one with the highest number so far, if that is higher
	above           rank // for requests: the one with the highest id so far, if that is higher
	index, time     int64
	dup             bool
}

// A rank is a delivery that another one came after.
type rank struct {
	seq, index, time int64 // seq is negative for none
}

var noRank = rank{seq: history.None}

// copies are the deliveries of one pair that come with one QoS.
type copies struct {
	pair int32
	qos  uint8
}

// A line is what one process has of one stream, with one QoS.
type line struct {
	qos   uint8
	got   bitmap
	last  int64 // highest number so far, plus one
	index int64 // of its row

	// For requests: the highest id so far, and its message.
	id    int64
	above rank
}

func newOrder(ctx Context) Checker {
	return &order{ledger: ctx.ledger, places: newPlaces(ctx), lines: make([]line, len(ctx.ledger.route.pairs)), others: map[copies]*line{}, again: map[copied]struct{}{}}
}

func (c *order) Add(b *history.Batch) {
	l := c.ledger
	for d := range c.places.of(b) {
		line, seq := c.line(d.pair, b.QoS[d.i]), d.seq
		if !line.got.add(seq) {
			if len(c.again) < maxCopied {
				c.again[copied{b.Process[d.i], b.Stream[d.i], seq}] = struct{}{}
			}
			continue
		}
		c.seen++
		late := lateRow{
			process: b.Process[d.i], stream: b.Stream[d.i], seq: seq, behind: noRank, above: noRank,
			index: b.Index[d.i], time: b.Time[d.i], dup: d.flags.Has(history.FlagDup),
		}
		if seq < line.last {
			late.behind = rank{seq: line.last - 1, index: line.index}
		} else {
			line.last, line.index = seq+1, late.index
		}
		if id := b.ID[d.i]; id > 0 && l.requests(late.stream) {
			if id < line.id {
				late.above = line.above
			} else {
				line.id, line.above = id, rank{seq, late.index, late.time}
			}
		}
		if late.behind != noRank || late.above != noRank {
			c.late = append(c.late, late)
		}
	}
}

// line returns the line of a pair and a QoS.
func (c *order) line(pair int32, qos uint8) *line {
	first := &c.lines[pair]
	if first.got.n == 0 {
		first.qos = qos
	}
	if first.qos == qos {
		return first
	}
	other := c.others[copies{pair, qos}]
	if other == nil {
		other = &line{qos: qos}
		c.others[copies{pair, qos}] = other
	}
	return other
}

// places tell which deliveries have a place in an order. One in the answer of another mailbox has
// none.
type places struct {
	ledger *ledger
	looks  *looks // nil where nobody speaks mq9
}

func newPlaces(ctx Context) *places {
	p := &places{ledger: ctx.ledger}
	if fetches(ctx.Tables) {
		p.looks = newLooks(ctx.Tables, false)
	}
	return p
}

// of goes through those of a batch.
func (p *places) of(b *history.Batch) iter.Seq[delivery] {
	var strays []int32
	if p.looks != nil {
		strays = p.looks.strays(p.ledger, b)
	}
	return func(yield func(delivery) bool) {
		for _, d := range p.ledger.rows(b).delivered {
			for len(strays) > 0 && strays[0] < d.i {
				strays = strays[1:]
			}
			if stray := len(strays) > 0 && strays[0] == d.i; !stray && p.ledger.ordered(d) && !yield(d) {
				return
			}
		}
	}
}

func (p *places) fork() *places {
	f := *p
	if p.looks != nil {
		f.looks = p.looks.fork()
	}
	return &f
}

// ordered reports whether a delivery has a place in an order: not a retained
// copy, not one under another topic, not one of a shared subscription, not a register's.
func (l *ledger) ordered(d delivery) bool {
	return d.pair >= 0 && d.flags&(history.FlagRetain|history.FlagCorrupt|history.FlagRenamed) == 0 &&
		l.route.pairs[d.pair].shared == 0 && !l.route.pairs[d.pair].register
}

// placed returns the late deliveries that break an order. It is asked for at the end,
// when all acknowledgements are known: a message may reach a subscriber before its
// acknowledgement reaches the producer.
func (c *order) placed() *findings {
	l, found := c.ledger, &findings{}
	again := c.givenAgain()
	for _, r := range c.late {
		m := l.sends.find(r.stream, r.seq)
		if m == nil {
			continue
		}
		over, ok := c.overtaker(r, m, again[l.topic(r.stream)])
		if !ok || r.dup && l.sessions.cameBack(r.process, m.called-l.apart, r.time) || l.wire.repeatedInOrder(r.process, r.stream, r.seq, over.seq) {
			continue
		}
		a := verdict.Anomaly{
			Kind: "nonmonotonic", Process: r.process, Stream: r.stream, Seq: r.seq, TimeNS: r.time,
			Fault: l.fault(r.time), Events: events(over.index, r.index),
		}
		twice := ""
		if _, ok := c.again[copied{r.process, r.stream, over.seq}]; ok { // whose copy may have overtaken it
			twice = ", which it got more than once"
		}
		a.Text = sentence("%s first reached %s at %s, after number %d%s%s", l.message(r.stream, r.seq), l.process(r.process), clock(r.time), over.seq, twice, under(a.Fault))
		if l.single(r.process, r.stream) {
			l.accuse(&a, l.wire.disorderedBy(r.process, r.stream, r.seq, over.seq, l.disturbed(m.called, r.time)))
		}
		found.add(a)
	}
	return found
}

// overtaker returns the delivery that the late message m was to come before, if there is
// one. Sends of mq9 are requests, which a broker may serve side by side. Then the first is
// the message that was answered before the other was called, or the one with the lower id,
// unless ids of the mailbox were given again.
func (c *order) overtaker(r lateRow, m *message, again bool) (over rank, ok bool) {
	l := c.ledger
	behind, above := l.sends.find(r.stream, r.behind.seq), l.sends.find(r.stream, r.above.seq)
	answered := func(later *message) bool { return later != nil && m.outcome == history.OK && m.acked < later.called }
	switch {
	case !l.requests(r.stream):
		return r.behind, behind != nil && l.before(r.stream, m, behind)
	case above != nil && !again || answered(above):
		return r.above, true
	}
	return r.behind, answered(behind)
}

// givenAgain are the mailboxes whose ids tell no order, because the broker gave some again, as
// one that lost messages may. There a message has a lower id than another, and was sent when
// that one had been answered or delivered.
func (c *order) givenAgain() map[string]bool {
	l, again := c.ledger, map[string]bool{}
	for _, r := range c.late {
		m, above := l.sends.find(r.stream, r.seq), l.sends.find(r.stream, r.above.seq)
		if m != nil && above != nil && (r.above.time <= m.called-l.apart || above.outcome == history.OK && above.acked <= m.called) {
			again[l.topic(r.stream)] = true
		}
	}
	return again
}

// requests reports whether a stream's messages are sent as requests.
func (l *ledger) requests(stream int32) bool {
	p := l.tables.Streams[stream].Producer
	return uint32(p) < uint32(len(l.tables.Processes)) && l.tables.Processes[p].Protocol == contract.MQ9
}

func (c *order) Result(*closing) verdict.Result {
	var skipped, pairs int64
	for i := range c.lines {
		if n := c.lines[i].got.n; n > 0 {
			pairs++
			skipped += c.lines[i].last - n
		}
	}
	for _, o := range c.others {
		skipped += o.last - o.got.n
	}
	found := c.placed()
	r := found.judged(c.seen, map[string]int64{
		"first_deliveries": c.seen, "nonmonotonic": found.total, "skipped": skipped, "pairs": pairs, "unplaced": int64(len(c.late)) - found.total,
	}, "nothing was delivered that has an order")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("%d first deliveries came in order, over %d pairs of stream and subscriber", c.seen, pairs)
	case verdict.Fail:
		r.Summary = summary("%d of %d first deliveries came out of order, the first: %s", found.total, c.seen, r.Anomalies[0].Text)
	}
	return r
}

// swap exchanges two first deliveries once in every pair of stream and process. In a
// single pair the two messages might have no known order.
func swap(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "no two messages of one stream reached one subscriber shortly after one another"}
	high := make([]int64, len(l.route.pairs))
	done := make([]bool, len(l.route.pairs))
	placed := newPlaces(ctx)
	m.apply = func(b *history.Batch) *history.Batch {
		out, last := b, map[int32]int{} // row of the last first delivery in this batch, by pair
		for d := range placed.of(b) {
			i := int(d.i)
			if done[d.pair] || d.seq < high[d.pair] {
				continue
			}
			high[d.pair] = d.seq + 1
			j, ok := last[d.pair]
			if !ok || b.QoS[i] != b.QoS[j] || l.requests(b.Stream[i]) && !(0 < b.ID[j] && b.ID[j] < b.ID[i]) {
				last[d.pair] = i
				continue
			}
			if m.did == "" {
				m.did = sentence("swapped numbers %d and %d of %s on their way to %s, and two of every other pair", b.Seq[j], b.Seq[i], l.topic(b.Stream[i]), l.process(b.Process[i]))
			}
			out, done[d.pair] = exchanged(out, i, j), true
		}
		return out
	}
	return m
}

func (l line) fork() line {
	l.got = l.got.fork()
	return l
}

func (c *order) fork() Checker {
	f := *c
	f.others = make(map[copies]*line, len(c.others))
	for at, o := range c.others {
		forked := o.fork()
		f.others[at] = &forked
	}
	f.places = c.places.fork()
	f.lines, f.late, f.again = forks(c.lines, line.fork), slices.Clone(c.late), maps.Clone(c.again)
	return &f
}
