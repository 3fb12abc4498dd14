package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimNoUnexpected = Entry{
	Claim: verdict.Claim{Name: "no-unexpected", Severity: verdict.P0, Gated: true,
		Text:   "Only published messages are delivered, under their topic, to matching subscriptions alone, and with RETAIN only if published with it.",
		Source: "MQTT 3.1.1 sections 3.3.5, 4.7 and 3.3.1.3 [MQTT-3.3.1-9]; mq9 protocol.md, MSG.FETCH"},
	Category: Isolation, Checker: "unexpected@3", Protocols: every, Rests: history.PromiseProtocol, New: newUnexpected, NeedsComplete: true, canary: invent,
	ByHand: true,
	Notice: Notice{"unexpected deliveries", "mqtt/broker-kill-9"},
}

// unexpected judges that every delivery is of a message that was sent, to a process
// with a matching subscription. A message must not come with RETAIN if it was published
// without, and never under another topic. The topic is the one in the delivery or on
// the wire, or for mq9 the mailbox of the fetch. On the wire no session is sent what was
// acknowledged long before it first subscribed.
type unexpected struct {
	ledger    *ledger
	looks     *looks // nil where nobody speaks mq9
	newcomers *newcomers
	seen      int64
	suspects  []suspect
}

// A suspect is a delivery whose publish was not recorded yet, or for which no
// filter is known yet. A driver flushes the call before it sends, but another
// driver's delivery may be recorded first.
type suspect struct {
	process, stream int32
	seq, index, t   int64
	foreign         bool
	retained        bool // it came with RETAIN
	packet          bool // it is a packet, under another topic
	renamed         bool // it came under another topic
	topic           string
	elsewhere       bool  // it was in the answer of another mailbox
	since           int64 // of a packet whose message was acknowledged long before: when its session first subscribed
}

func newUnexpected(ctx Context) Checker {
	c := &unexpected{ledger: ctx.ledger, newcomers: newNewcomers(ctx.ledger)}
	if fetches(ctx.Tables) {
		c.looks = newLooks(ctx.Tables, false)
	}
	return c
}

func (c *unexpected) Add(b *history.Batch) {
	route, sends := c.ledger.route, c.ledger.sends
	for _, d := range c.ledger.rows(b).delivered {
		if d.flags.Has(history.FlagCorrupt) {
			continue
		}
		c.seen++
		i, s := d.i, b.Stream[d.i]
		foreign := d.flags.Has(history.FlagForeign) || uint32(s) >= uint32(len(sends.streams))
		retained := !foreign && d.flags&(history.FlagRetain|history.FlagEnd) == history.FlagRetain && !c.ledger.tables.Streams[s].Retain
		renamed := !foreign && d.flags.Has(history.FlagRenamed)
		if !foreign && !retained && !renamed && d.pair >= 0 && route.pairs[d.pair].takes() && sends.find(s, d.seq) != nil {
			continue
		}
		was := suspect{process: b.Process[i], stream: s, seq: d.seq, index: b.Index[i], t: b.Time[i], foreign: foreign, retained: retained, renamed: renamed}
		if renamed {
			was.topic = b.Text(int(i))
		}
		c.suspect(was)
	}
	c.mailboxes(b)
	if !c.ledger.wire.on {
		return
	}
	packets := c.ledger.rows(b).packets
	for i := range packets {
		p := &packets[i]
		if p.flags.Has(history.FlagRenamed | history.FlagToClient) {
			c.suspect(suspect{process: p.process, stream: p.stream, seq: p.seq, index: p.row, t: p.time, packet: true})
		}
		if since := c.newcomers.take(p); since > 0 {
			c.suspect(suspect{process: p.process, stream: p.stream, seq: p.seq, index: p.row, t: p.time, since: since})
		}
	}
}

// A handed is one message to one client.
type handed struct {
	process, stream int32
	seq             int64
}

// renamed returns the messages delivered under another topic. The same messages on the
// wire are no second violation.
func (c *unexpected) renamed() map[handed]bool {
	out := map[handed]bool{}
	for _, s := range c.suspects {
		if s.renamed {
			out[handed{s.process, s.stream, s.seq}] = true
		}
	}
	return out
}

// mailboxes looks for messages in the answers of mailboxes that are not theirs.
func (c *unexpected) mailboxes(b *history.Batch) {
	if c.looks == nil {
		return
	}
	for _, i := range c.looks.strays(c.ledger, b) {
		c.suspect(suspect{process: b.Process[i], stream: b.Stream[i], seq: b.Seq[i], index: b.Index[i], t: b.Time[i], elsewhere: true})
	}
}

func (c *unexpected) suspect(s suspect) {
	if len(c.suspects) < 1<<20 {
		c.suspects = append(c.suspects, s)
	}
}

func (q pair) takes() bool { return q.filters > 0 || q.shared > 0 }

func (c *unexpected) Result(*closing) verdict.Result {
	var found findings
	var misrouted, foreign, retained, renamed, early int64
	delivered := c.renamed()
	for _, s := range c.suspects {
		text := ""
		switch {
		case s.packet && delivered[handed{s.process, s.stream, s.seq}]:
			continue
		case s.foreign:
			foreign++
			text = sentence("%s was delivered a payload that is not of this run", c.ledger.process(s.process))
		case c.ledger.sends.find(s.stream, s.seq) == nil:
			text = sentence("%s was delivered to %s and was never sent", c.ledger.message(s.stream, s.seq), c.ledger.process(s.process))
		case s.elsewhere:
			misrouted++
			text = sentence("%s was in the answer to %s from another mailbox", c.ledger.message(s.stream, s.seq), c.ledger.process(s.process))
		case s.since > 0 && !c.ledger.early(s.process, s.stream, s.seq, s.since):
			continue
		case s.since > 0:
			early++
			text = sentence("%s was sent to %s in a session that first subscribed at %s, and had been acknowledged at %s", c.ledger.message(s.stream, s.seq), c.ledger.process(s.process), clock(s.since), clock(c.ledger.sends.find(s.stream, s.seq).acked))
		case s.packet:
			renamed++
			text = sentence("%s was sent to %s under another topic", c.ledger.message(s.stream, s.seq), c.ledger.process(s.process))
		case s.renamed:
			renamed++
			text = sentence("%s was delivered to %s under the topic %q, and was published under %q", c.ledger.message(s.stream, s.seq), c.ledger.process(s.process), s.topic, c.ledger.topic(s.stream))
		case s.process < 0 || !c.ledger.sessions.takes(s.process, c.ledger.topic(s.stream)):
			misrouted++
			text = sentence("%s was delivered to %s, which has no subscription that matches", c.ledger.message(s.stream, s.seq), c.ledger.process(s.process))
		case s.retained:
			retained++
			text = sentence("%s was delivered to %s with RETAIN, and was published without", c.ledger.message(s.stream, s.seq), c.ledger.process(s.process))
		default:
			continue
		}
		fault := c.ledger.fault(s.t)
		a := verdict.Anomaly{
			Kind: "unexpected", Process: s.process, Stream: s.stream, Seq: s.seq, TimeNS: s.t,
			Fault: fault, Events: events(s.index), Text: text + " at " + clock(s.t) + under(fault),
		}
		c.ledger.accuse(&a, c.shown(s))
		found.add(a)
	}
	r := found.judged(c.seen, map[string]int64{
		"delivered": c.seen, "unexpected": found.total, "misrouted": misrouted, "foreign": foreign, "retained": retained, "renamed": renamed, "early": early,
	}, "nothing was delivered")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("all of %d deliveries had been sent, to a subscriber", c.seen)
	case verdict.Fail:
		r.Summary = summary("%d of %d deliveries were unexpected, the first: %s", found.total, c.seen, r.Anomalies[0].Text)
	}
	return r
}

// shown names the party to blame for a suspect.
func (c *unexpected) shown(s suspect) shown {
	w, called := c.ledger.wire, c.ledger.sends.find(s.stream, s.seq) != nil
	switch {
	case s.foreign:
		return w.damagedBy(s.process, s.index, strangers)
	case s.since > 0:
		return byBroker("that PUBLISH", s.index)
	case s.packet:
		return w.renamedBy(s.stream, s.seq, s.index)
	case s.renamed && called:
		return w.namedBy(s.process, s.stream, s.seq)
	case s.retained && called && c.ledger.sessions.takes(s.process, c.ledger.topic(s.stream)):
		return w.retainedBy(s.process, s.stream, s.seq)
	}
	return w.inventedBy(s.process, s.stream, s.seq, called)
}

// invent adds a delivery of a message that was never sent.
func invent(ctx Context) *mutation {
	l := ctx.ledger
	first := func(b *history.Batch) int {
		list := l.rows(b).delivered
		if i := slices.IndexFunc(list, func(d delivery) bool { return d.pair >= 0 }); i >= 0 {
			return int(list[i].i)
		}
		return -1
	}
	return uncalled(l, "nothing was delivered", first, func(e history.Event) string {
		return sentence("delivered %s, which was never sent, to %s", l.message(e.Stream, e.Seq), l.process(e.Process))
	})
}

func (c *unexpected) fork() Checker {
	f := *c
	f.suspects, f.newcomers = slices.Clone(c.suspects), &newcomers{c.ledger, slices.Clone(c.newcomers.of)}
	if c.looks != nil {
		f.looks = c.looks.fork()
	}
	return &f
}
