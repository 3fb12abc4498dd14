package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimMQ9AckKept = Entry{
	Claim: verdict.Claim{Name: "mq9-ack-kept", Severity: verdict.P2, Gated: true,
		Text:   "The broker records a group's offset, ACK advances it, and the next FETCH resumes from there: what was acknowledged is not delivered to that group again.",
		Source: "mq9 website/docs/faq.md, FETCH and QUERY; protocol.md, Core Concepts"},
	Category: Safety, Checker: "ackkept@3", Protocols: mq9, Rests: history.PromiseMailboxes, New: newAckKept, canary: unacknowledge,
	Notice: Notice{"messages that a group had acknowledged, and was delivered again", "mq9/broker-kill-9"},
}

// ackKept judges that a group gets nothing again that it has acknowledged. The broker
// takes a message that was sent twice for two, each with its own id.
type ackKept struct {
	*offsets
	judged int64 // deliveries to groups that had acknowledged something before
	found  findings
}

// offsets follow what each group, which is a process of its own, has
// acknowledged of each mailbox and priority.
type offsets struct {
	ledger *ledger
	looks  *looks
	answer [][]mail          // by process: the answer that it reads
	since  map[ladder]int64  // when it first acknowledged anything
	open   map[ladder][]mail // delivered, and not acknowledged
	acks   []confirm
	by     []marks // by pair: the acknowledgement of each message, that of the highest id where it was sent twice
}

// A mail is a message of an answer.
type mail struct {
	stream  int32
	seq, id int64
}

// A ladder is the messages of one priority in a mailbox, as one process reads them.
type ladder struct {
	process int32
	mailbox string
	rank    int
}

// A confirm is an acknowledgement: of this id and all below it that its process had been
// delivered before. A broker that lost messages may give these ids again, to messages that
// nobody acknowledged.
type confirm struct {
	id, time, row int64
}

func newOffsets(ctx Context) *offsets {
	return &offsets{
		ledger: ctx.ledger, looks: newLooks(ctx.Tables, false), answer: make([][]mail, len(ctx.Tables.Processes)),
		since: map[ladder]int64{}, open: map[ladder][]mail{}, by: make([]marks, len(ctx.ledger.route.pairs)),
	}
}

func newAckKept(ctx Context) Checker { return &ackKept{offsets: newOffsets(ctx)} }

// A fetched is a delivery in the answer to a fetch.
type fetched struct {
	mail
	ladder
	called int64 // when the fetch was
}

// row takes a row. Where the row delivers a message whose place among the
// acknowledgements can be told, row returns it.
func (c *offsets) row(b *history.Batch, i int) (d fetched, ok bool) {
	p := b.Process[i]
	if uint32(p) >= uint32(len(c.answer)) {
		return d, false
	}
	at := c.looks.row(b, i)
	switch {
	case b.Kind[i] == history.KindFetch && b.Edge[i] == history.Call:
		c.answer[p] = c.answer[p][:0]
	case b.Kind[i] == history.KindAck && b.Edge[i] != history.Call && b.ID[i] >= 0:
		c.confirm(b, i)
	case at != nil:
		return c.deliver(b, i, at)
	}
	return d, false
}

func (c *offsets) deliver(b *history.Batch, i int, at *look) (d fetched, ok bool) {
	p, s := b.Process[i], b.Stream[i]
	if c.ledger.route.at(p, s) < 0 || !c.numbered(b, i) || c.ledger.topic(s) != at.mailbox {
		return d, false
	}
	d = fetched{mail{s, b.Seq[i], b.ID[i]}, ladder{p, at.mailbox, c.ledger.rank(s)}, at.called}
	c.answer[p] = append(c.answer[p], d.mail)
	if before, _ := c.acknowledged(d, p); before == nil {
		c.open[d.ladder] = append(c.open[d.ladder], d.mail)
	}
	return d, true
}

// acknowledged returns the acknowledgement by which a process had confirmed the message
// of a delivery, its own or another's, before the fetch was called. judged is whether the
// process had acknowledged any message of that mailbox and priority before.
func (c *offsets) acknowledged(d fetched, process int32) (before *confirm, judged bool) {
	called := d.called
	if process == d.process { // by whose own clock its acknowledgements are
		called += c.ledger.apart
	}
	first, any := c.since[ladder{process, d.mailbox, d.rank}]
	judged = any && first < called
	if n := c.by[c.ledger.route.at(process, d.stream)].get(d.seq); n >= 0 {
		if done := &c.acks[n]; done.time < called && d.id <= done.id {
			before = done
		}
	}
	return before, judged
}

// numbered reports whether a delivery has the broker's number, by which acknowledgements
// name messages. Drivers do not tell number 0, with which some brokers begin.
func (c *offsets) numbered(b *history.Batch, i int) bool {
	return b.ID[i] >= 0 && !ephemeral(c.ledger.tables.Streams[b.Stream[i]])
}

// confirm finds which message of the answer is acknowledged.
func (c *offsets) confirm(b *history.Batch, i int) {
	p := b.Process[i]
	for _, m := range c.answer[p] {
		if m.id != b.ID[i] {
			continue
		}
		on := ladder{p, c.ledger.topic(m.stream), c.ledger.rank(m.stream)}
		if _, any := c.since[on]; !any {
			c.since[on] = b.Time[i]
		}
		n := int64(len(c.acks))
		c.acks = append(c.acks, confirm{m.id, b.Time[i], b.Index[i]})
		c.open[on] = slices.DeleteFunc(c.open[on], func(o mail) bool {
			if o.id > m.id {
				return false
			}
			by := &c.by[c.ledger.route.at(p, o.stream)]
			if had := by.swap(o.seq, n, false); had >= 0 && c.acks[had].id < m.id {
				by.swap(o.seq, n, true)
			}
			return true
		})
	}
}

func (c *ackKept) Add(b *history.Batch) {
	for i := range b.N {
		d, ok := c.row(b, i)
		if !ok {
			continue
		}
		before, judged := c.acknowledged(d, d.process)
		if judged {
			c.judged++
		}
		if before != nil {
			c.repeated(b, i, before)
		}
	}
}

func (c *ackKept) repeated(b *history.Batch, i int, before *confirm) {
	l := c.ledger
	fault := l.fault(b.Time[i])
	c.found.add(verdict.Anomaly{
		Kind: "repeated", Process: b.Process[i], Stream: b.Stream[i], Seq: b.Seq[i], TimeNS: b.Time[i],
		Fault: fault, Events: events(before.row, b.Index[i]),
		Text: sentence("%s (id %d) reached %s again at %s, which had acknowledged id %d at %s%s",
			l.message(b.Stream[i], b.Seq[i]), b.ID[i], l.process(b.Process[i]), clock(b.Time[i]), before.id, clock(before.time), under(fault)),
	})
}

func (c *ackKept) Result(*closing) verdict.Result {
	r := c.found.judged(c.judged, map[string]int64{"deliveries": c.judged, "repeated": c.found.total},
		"no group that had acknowledged something was delivered anything")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("none of %d deliveries was of a message that its group had acknowledged", c.judged)
	case verdict.Fail:
		r.Summary = summary("%d of %d deliveries were of messages that their group had acknowledged, the first: %s", c.found.total, c.judged, r.Anomalies[0].Text)
	}
	return r
}

func (c *ackKept) fork() Checker {
	f := *c
	f.offsets, f.found = c.offsets.fork(), c.found.fork()
	return &f
}

func (c *offsets) fork() *offsets {
	open := maps.Clone(c.open)
	for on := range open {
		open[on] = slices.Clone(open[on])
	}
	return &offsets{
		ledger: c.ledger, looks: c.looks.fork(), answer: forks(c.answer, func(a []mail) []mail { return slices.Clone(a) }),
		since: maps.Clone(c.since), open: open, acks: slices.Clone(c.acks), by: forks(c.by, marks.fork),
	}
}

// again is the event of a delivery, of another message.
func again(b *history.Batch, i int, old mail) history.Event {
	e := b.Event(i)
	e.Stream, e.Seq, e.ID, e.Flags = old.stream, old.seq, old.id, 0
	return e
}

// unacknowledge delivers a message again in the answer behind the one whose
// acknowledgement it was in.
func unacknowledge(ctx Context) *mutation {
	l, c := ctx.ledger, newOffsets(ctx)
	m := &mutation{idle: "no group was delivered anything after it had acknowledged something"}
	had := map[ladder]mail{}
	m.apply = func(b *history.Batch) *history.Batch {
		for i := range b.N {
			if m.did != "" {
				return b
			}
			d, ok := c.row(b, i)
			if !ok {
				continue
			}
			old, ok := had[d.ladder]
			if !ok {
				had[d.ladder] = d.mail
				continue
			}
			if before, _ := c.acknowledged(fetched{old, d.ladder, d.called}, d.process); before != nil {
				m.did = sentence("delivered %s, which was acknowledged, to %s again", l.message(old.stream, old.seq), l.process(d.process))
				return with(b, i, again(b, i, old))
			}
		}
		return b
	}
	return m
}
