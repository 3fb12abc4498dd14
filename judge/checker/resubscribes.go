package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSDKResubscribes = Entry{
	Claim: verdict.Claim{Name: "sdk-resubscribes", Severity: verdict.P1, Of: verdict.SDK, Wire: true,
		Text:   "A client that is to be subscribed subscribes when the broker has no session of its: the client's and the server's session state must be discarded together.",
		Source: "MQTT 3.1.1 section 3.2.2.2, 4.1; the driver contract, Subscribing"},
	Category: Liveness, Checker: "resubscribes@3", Protocols: mqtt, New: newResubscribes, Timed: true, canary: unsubscribe,
}

// subscribeBound is how long a client may take to subscribe where the broker
// has no session of its.
const subscribeBound = int64(5e9)

// resubscribes judges that a client which is to be subscribed subscribes
// whenever the broker has no session of its. One that was told to stop reading
// meanwhile is not judged: some libraries subscribe in the thread that waits then.
type resubscribes struct {
	ledger *ledger
	of     []subscribing // by process
	judged int64
	found  findings
	now    int64
}

// A subscribing is what is known of a client's subscriptions.
type subscribing struct {
	asked     int32 // connection of its last SUBSCRIBE, plus one
	over      int32 // connections that it closed, or left for another one: all with lower numbers
	waits     bool  // for one, since a CONNACK without session present:
	conn      int32
	row, time int64
	paused    bool
}

func newResubscribes(ctx Context) Checker {
	return &resubscribes{ledger: ctx.ledger, of: make([]subscribing, len(ctx.Tables.Processes))}
}

func (c *resubscribes) fork() Checker {
	f := *c
	f.of, f.found = slices.Clone(c.of), c.found.fork()
	return &f
}

func (c *resubscribes) Add(b *history.Batch) {
	rows := c.ledger.rows(b)
	control := rows.control
	for i := range rows.packets {
		p := &rows.packets[i]
		for ; len(control) > 0 && int(control[0]) < p.i; control = control[1:] {
			c.pause(b, int(control[0]))
		}
		c.now = max(c.now, p.time)
		switch p.kind {
		case connectPacket, connackPacket, subscribePacket, closedPacket, disconnectPacket:
		default: // most packets
			continue
		}
		if uint32(p.process) < uint32(len(c.of)) && len(c.ledger.tables.Processes[p.process].Filters) > 0 && c.ledger.wire.heard(p.process) && c.ledger.tests(p.process) {
			c.take(p, &c.of[p.process])
		}
	}
	for _, i := range control {
		c.pause(b, int(i))
	}
}

func (c *resubscribes) settled() bool { return c.found.total > 0 }

func (c *resubscribes) pause(b *history.Batch, i int) {
	if k := b.Kind[i]; (k == history.KindPause || k == history.KindResume) && uint32(b.Process[i]) < uint32(len(c.of)) {
		s := &c.of[b.Process[i]]
		s.paused, s.waits = k == history.KindPause, false
	}
}

func (c *resubscribes) take(p *packet, s *subscribing) {
	switch {
	case p.conn < s.over: // a late answer of the broker
		return
	case p.kind == connectPacket:
		if s.waits {
			c.ends(p.process, s, p.time)
		}
		s.over = p.conn
	case p.accepted() && !p.flags.Has(history.FlagSessionPresent):
		s.waits, s.conn, s.row, s.time = !s.paused && s.asked != p.conn+1, p.conn, p.row, p.time
		if s.asked == p.conn+1 { // without waiting for CONNACK
			c.judged++
		}
	case p.kind == subscribePacket:
		s.asked = p.conn + 1
		if s.waits && p.conn == s.conn {
			c.judged++
			s.waits = false
		}
	case p.kind == closedPacket || p.kind == disconnectPacket:
		if s.waits && p.conn == s.conn {
			c.ends(p.process, s, p.time)
		}
		s.over = p.conn + 1
	}
}

// ends judges a connection without a subscription, by the longest time in which
// no fault was in place.
func (c *resubscribes) ends(process int32, s *subscribing, end int64) {
	s.waits = false
	var longest int64
	from := s.time
	for _, w := range c.ledger.windows {
		if int64(w.End) < from {
			continue
		}
		longest = max(longest, min(int64(w.Start), end)-from)
		from = int64(w.End)
	}
	if max(longest, end-from) < subscribeBound {
		return
	}
	c.judged++
	l := c.ledger
	c.found.add(verdict.Anomaly{
		Kind: "unsubscribed", Process: process, Stream: history.None, Seq: history.None, TimeNS: s.time, Events: events(s.row), Blame: verdict.SDK,
		Text: sentence("the wire shows that %s was connected for %s from %s on without a session, and did not subscribe", l.process(process), clock(end-s.time), clock(s.time)),
	})
}

func (c *resubscribes) Result(*closing) verdict.Result {
	for process := range c.of {
		if s := &c.of[process]; s.waits {
			c.ends(int32(process), s, c.now)
		}
	}
	r := c.found.judged(c.judged, map[string]int64{"judged": c.judged, "unsubscribed": c.found.total}, "no subscriber connected without a session")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("subscribers subscribed after each of %d connects without a session", c.judged)
	case verdict.Fail:
		r.Summary = summary("subscribers did not subscribe after %d of %d connects without a session, the first: %s", c.found.total, c.judged, r.Anomalies[0].Text)
	}
	return r
}

// unsubscribe drops every SUBSCRIBE.
func unsubscribe(ctx Context) *mutation {
	return dropping(ctx, "no client subscribed", "dropped every SUBSCRIBE", func(p *packet) bool { return p.kind == subscribePacket })
}
