package checker

import (
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimMQ9MessageTTL = Entry{
	Claim: verdict.Claim{Name: "mq9-message-ttl", Severity: verdict.P2, Gated: true,
		Text:   "A message expires at send_time + ttl, independent of the mailbox: until then FETCH returns it, and from then on, within the time that the scenario bounds (expiry_s), no more.",
		Source: "mq9 protocol.md, MSG.SEND, mq9-ttl; website/docs/faq.md"},
	Category: Safety, Checker: "expiry@3", Protocols: mq9, Rests: history.PromiseMailboxes, New: messagesExpire, NeedsComplete: true, Timed: true, canary: expireLate(ofMessages),
	Unjudged: unbounded,
}

var claimMQ9MailboxTTL = Entry{
	Claim: verdict.Claim{Name: "mq9-mailbox-ttl", Severity: verdict.P2, Gated: true,
		Text:   "A mailbox is destroyed when it expires, and its messages with it, within the time that the scenario bounds (expiry_s): it takes and gives no more. Until then it is there.",
		Source: "mq9 protocol.md, Core Concepts and MAILBOX.CREATE; website/docs/faq.md, What happens when a mailbox expires?"},
	Category: Safety, Checker: "expiry@3", Protocols: mq9, Rests: history.PromiseMailboxes, New: mailboxesExpire, NeedsComplete: true, Timed: true, canary: expireLate(ofMailboxes),
	Unjudged: unbounded,
}

// expiry judges messages or whole mailboxes with a time to live: they are there until
// it is over, and not afterwards. The broker's clock starts somewhere between a call
// and its return, and counts in seconds. In the uncertain time both outcomes are
// allowed.
//
// There are two kinds of violation. Late is a message in the answer to a fetch that was
// called after its time was over, or a send that an expired mailbox took. Early is a
// message that never came, although an answer should have had it in time, or a send
// that was refused because its mailbox was gone too soon.
type expiry struct {
	ledger  *ledger
	of      lifetime
	slack   int64 // nanoseconds after the end in which it may still be there
	clocked bool  // a fault changed a clock
	looks   *looks
	got     *receipts
	boxes   map[string]*box // where mailboxes are judged
	late    []occurrence
	refused []occurrence
}

const second = int64(1e9)

// A lifetime returns the time to live of a stream's messages, or of its mailbox.
type lifetime func(history.Stream) (seconds int)

func ofMessages(s history.Stream) int  { return s.TTLS }
func ofMailboxes(s history.Stream) int { return s.MailboxTTLS }

// An occurrence is a row about a message.
type occurrence struct {
	process, stream  int32
	seq, index, time int64
	asked            int64 // when it was fetched
}

// messagesExpire judges messages with a time to live.
func messagesExpire(ctx Context) Checker { return newExpiry(ctx, ofMessages) }

// mailboxesExpire judges mailboxes with a time to live, and what is in them.
func mailboxesExpire(ctx Context) Checker {
	c := newExpiry(ctx, ofMailboxes)
	for _, s := range ctx.Tables.Streams {
		if life := c.life(s); life > 0 {
			x := newBox(life)
			c.boxes[s.Topic] = &x
		}
	}
	return c
}

func newExpiry(ctx Context, of lifetime) *expiry {
	return &expiry{
		ledger: ctx.ledger, of: of, slack: expirySlack(ctx), clocked: clocked(ctx),
		looks: newLooks(ctx.Tables, true), got: ctx.receipts, boxes: map[string]*box{},
	}
}

// clocked reports whether a fault changed a clock.
func clocked(ctx Context) bool {
	return slices.ContainsFunc(ctx.Landings, history.Landing.MovesClock)
}

// whyClocked is why nothing that expires is judged then.
const whyClocked = "a clock was changed, and a broker decides by its clock when something expires"

// expirySlack returns how long a message or mailbox may still be there after its end.
func expirySlack(ctx Context) int64 { return max(int64(ctx.Run.Budget.ExpiryS*1e9), second) }

// life returns the judged time to live of a stream, in nanoseconds; 0 where it has no
// end.
func (c *expiry) life(s history.Stream) int64 { return int64(c.of(s)) * second }

func (c *expiry) Add(b *history.Batch) {
	c.got.addOwn(b)
	for i := range b.N {
		switch {
		case b.Kind[i] != history.KindSubscribe:
		case b.Edge[i] == history.Return:
			for _, x := range c.boxes {
				x.answer(b, i)
			}
		case c.boxes[mailboxOf(b.Text(i))] != nil:
			c.boxes[mailboxOf(b.Text(i))].ask(b, i)
		}
		at := c.looks.row(b, i)
		if at != nil && b.Stream[i] >= 0 && c.mayBeLate(b, i, at) {
			c.late = append(c.late, occurrence{b.Process[i], b.Stream[i], b.Seq[i], b.Index[i], b.Time[i], at.called})
		}
	}
	for _, i := range c.ledger.rows(b).published {
		if s := b.Stream[i]; c.boxes[c.ledger.topic(s)] != nil && b.Edge[i] == history.Return && b.Outcome[i] == history.Fail && gone(b.Text(int(i))) {
			c.refused = append(c.refused, occurrence{b.Process[i], s, b.Seq[i], b.Index[i], b.Time[i], 0})
		}
	}
}

// gone reports whether an error says that there is no such mailbox.
func gone(text string) bool {
	return strings.Contains(text, "mailbox") && (strings.Contains(text, "does not exist") || strings.Contains(text, "not found"))
}

// mayBeLate leaves out at once what came in time.
func (c *expiry) mayBeLate(b *history.Batch, i int, at *look) bool {
	m := c.ledger.sends.find(b.Stream[i], b.Seq[i])
	return c.life(c.ledger.tables.Streams[b.Stream[i]]) > 0 && m != nil && m.flags&msgEnd == 0 && at.called >= m.called+second
}

// span returns until when a message was certainly there, and from when on it is
// certainly over. known is false where that cannot be told.
func (c *expiry) span(stream int32, m *message) (until, over int64, known bool) {
	row := c.ledger.tables.Streams[stream]
	if m.outcome != history.OK || m.flags&msgEnd != 0 || c.cannot(row.Producer) {
		return 0, 0, false
	}
	if x := c.boxes[row.Topic]; x != nil {
		return x.earliest(), x.made + x.life + c.slack, x.made != never && m.acked < x.earliest()
	}
	life := c.life(row)
	return m.called + life - second, m.acked + life + c.slack, true
}

// cannot reports whether a process gives nothing a time to live, or does not
// say when it fetches.
func (c *expiry) cannot(process int32) bool {
	return uint32(process) >= uint32(len(c.ledger.tables.Processes)) ||
		slices.Contains(c.ledger.tables.Processes[process].Cannot, contract.CannotFetch)
}

func (c *expiry) Result(*closing) verdict.Result {
	if c.clocked {
		return unjudged(whyClocked)
	}
	var found findings
	for _, s := range c.late {
		m := c.ledger.sends.find(s.stream, s.seq)
		if _, over, known := c.span(s.stream, m); known && s.asked >= over {
			found.add(c.anomaly("late", s, m, sentence("was fetched by %s at %s, %s after it had expired", c.ledger.process(s.process), clock(s.asked), clock(s.asked-over+c.slack))))
		}
	}
	looked := c.groups(&found)
	refused := c.sends(&found)
	r := found.judged(looked+refused, map[string]int64{"over": looked, "refused": refused, "violations": found.total},
		"no client asked for anything that had expired")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("%d messages and %d sends that came too late found nothing, and none was gone too early", looked, refused)
	case verdict.Fail:
		r.Summary = summary("%d times something lived on, or not as long as it was to, the first: %s", found.total, r.Anomalies[0].Text)
	}
	return r
}

func (c *expiry) anomaly(kind string, s occurrence, m *message, what string) verdict.Anomaly {
	fault := c.ledger.fault(s.time)
	return verdict.Anomaly{
		Kind: kind, Process: s.process, Stream: s.stream, Seq: s.seq, TimeNS: s.time, Fault: fault, Events: events(m.call.index(), m.ret.index(), s.index),
		Text: sentence("%s, acknowledged at %s with %d s to live, %s%s", c.ledger.message(s.stream, s.seq), clock(m.acked),
			c.of(c.ledger.tables.Streams[s.stream]), what, under(fault)),
	}
}

// groups goes through the messages that groups lack. It returns how many of them were
// fetched for after their time was over.
func (c *expiry) groups(found *findings) (looked int64) {
	l := c.ledger
	for p := range int32(len(l.tables.Processes)) {
		if c.cannot(p) {
			continue
		}
		for s, row := range l.tables.Streams {
			from := l.owed(p, int32(s))
			if c.life(row) == 0 || from == never {
				continue
			}
			whole, last := c.seen(p, row.Topic)
			st := &l.sends.streams[s]
			st.acked.each(st.since(from), c.got.got(p, int32(s)), func(seq int64) {
				m := st.messages.at(seq)
				until, over, known := c.span(int32(s), m)
				if !known {
					return
				}
				if last >= over {
					looked++
				}
				if at := c.lacking(whole, m.acked, until); at != nil {
					found.add(c.anomaly("early", occurrence{p, int32(s), seq, history.None, m.acked, 0}, m,
						sentence("was not in the answer to %s at %s, and never came", l.process(p), clock(at.returned))))
				}
			})
		}
	}
	return looked
}

// lacking returns the first complete answer that was to have a message which came with
// none, nil for none: asked for after its acknowledgement, given in time, and not during
// a fault. A node that was away may learn of a message late.
func (c *expiry) lacking(whole []look, acked, until int64) *look {
	for i := sort.Search(len(whole), func(i int) bool { return whole[i].called > acked }); i < len(whole) && whole[i].returned < until; i++ {
		if !c.ledger.disturbed(whole[i].called, whole[i].returned) {
			return &whole[i]
		}
	}
	return nil
}

// seen returns the complete answers that a process got from a mailbox, and when it
// called its last answered fetch.
func (c *expiry) seen(p int32, mailbox string) (whole []look, last int64) {
	for _, k := range c.looks.of[p] {
		if k.mailbox != mailbox {
			continue
		}
		if k.whole() {
			whole = append(whole, k)
		}
		if k.outcome == history.OK || k.gone {
			last = k.called
		}
	}
	return whole, last
}

// sends goes through the messages sent to mailboxes, and returns how many sends were
// refused after the mailbox was over.
func (c *expiry) sends(found *findings) (refused int64) {
	l := c.ledger
	for s, row := range l.tables.Streams {
		x := c.boxes[row.Topic]
		if x == nil || x.made == never || c.cannot(row.Producer) {
			continue
		}
		x.settle()
		over := x.made + x.life + c.slack
		st := &l.sends.streams[s]
		for seq := range st.messages.n {
			m := st.messages.at(seq)
			if m.outcome == history.OK && m.called >= over && m.acked < x.again {
				found.add(c.anomaly("late", occurrence{row.Producer, int32(s), seq, history.None, m.acked, 0}, m,
					sentence("was taken by a mailbox that had expired at %s", clock(over-c.slack))))
			}
		}
		for _, r := range c.refused {
			if r.stream != int32(s) {
				continue
			}
			m := l.sends.find(r.stream, r.seq)
			switch {
			case m == nil || !st.took(m.called): // a node may learn of a mailbox after others
			case m.called >= over:
				refused++
			case r.time < x.earliest() && l.fault(r.time) == "": // a node that was away may learn of it late
				found.add(c.anomaly("early", r, m, sentence("was refused at %s, as if its mailbox had expired: it lives %d s and was made after %s", clock(r.time), x.life/second, clock(x.first))))
			}
		}
	}
	return refused
}

func (c *expiry) fork() Checker {
	f := *c
	f.looks, f.got = c.looks.fork(), c.got.fork()
	f.late, f.refused = slices.Clone(c.late), slices.Clone(c.refused)
	f.boxes = map[string]*box{}
	for name, x := range c.boxes {
		twin := x.fork()
		f.boxes[name] = &twin
	}
	return &f
}

// expireLate delivers a message of a lifetime again when it is long over. A message that came to
// a mailbox after its time may have been over is not judged, and is of no use.
func expireLate(of lifetime) func(Context) *mutation {
	return func(ctx Context) *mutation {
		l := ctx.ledger
		var last, index int64
		asked := map[string]int64{} // of each mailbox, when it was first asked for
		m := &mutation{idle: "no acknowledged message with a time to live was due"}
		m.apply = func(b *history.Batch) *history.Batch {
			last, index = max(last, slices.Max(b.Time[:b.N])), b.Index[b.N-1]
			for i := range b.N {
				if b.Kind[i] != history.KindSubscribe || b.Edge[i] != history.Call {
					continue
				}
				if name := mailboxOf(b.Text(i)); asked[name] == 0 {
					asked[name] = b.Time[i]
				}
			}
			return b
		}
		m.end = func() []history.Event {
			for s, row := range l.tables.Streams {
				for p := range int32(len(l.tables.Processes)) {
					seq, ok := l.first(int32(s), p)
					if of(row) == 0 || !ok || row.MailboxTTLS > 0 && l.sends.find(int32(s), seq).acked >= asked[row.Topic]+int64(row.MailboxTTLS-1)*second {
						continue
					}
					m.did = sentence("delivered %s to %s long after it had expired", l.message(int32(s), seq), l.process(p))
					return lingering(p, int32(s), seq, row.Topic, last+int64(of(row)+10)*second+expirySlack(ctx), index)
				}
			}
			return nil
		}
		return m
	}
}

// took reports whether a send of the stream was acknowledged before t.
func (st *stream) took(t int64) (before bool) {
	st.acked.each(0, &bitmap{}, func(seq int64) { before = before || st.messages.at(seq).acked < t })
	return before
}

// first is the first acknowledged message of a stream that is due to a process.
func (l *ledger) first(stream, process int32) (first int64, ok bool) {
	from := l.owed(process, stream)
	if from == never {
		return 0, false
	}
	st := &l.sends.streams[stream]
	st.acked.each(st.since(from), &bitmap{}, func(seq int64) {
		if m := st.messages.at(seq); !ok && m.flags&msgEnd == 0 {
			first, ok = seq, true
		}
	})
	return first, ok
}

// lingering returns the rows of a fetch whose answer is one message.
func lingering(p, stream int32, seq int64, mailbox string, at, index int64) []history.Event {
	row := func(kind history.Kind, edge history.Edge) history.Event {
		index++
		return history.Event{
			Index: index, Call: history.None, Time: time.Duration(at), Process: p, Kind: kind, Edge: edge,
			Node: history.None, Stream: history.None, Seq: history.None, ID: history.None,
		}
	}
	call, ret, deliver := row(history.KindFetch, history.Call), row(history.KindFetch, history.Return), row(history.KindDeliver, history.Point)
	call.Text = mailbox
	ret.Call, ret.Outcome, ret.ID = call.Index, history.OK, 1
	deliver.Stream, deliver.Seq, deliver.QoS = stream, seq, 1
	return []history.Event{call, ret, deliver}
}
