package checker

import (
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimClientsConnect = Entry{
	Claim: verdict.Claim{Name: "clients-connect", Severity: verdict.P0, Gated: true,
		Text:   "A broker lets in whoever speaks its protocol: a CONNECT in which nothing is wrong is answered by a CONNACK of success, and mq9 is for any NATS client, without a library of its own.",
		Source: "MQTT 3.1.1 section 3.1.4 [MQTT-3.1.4-4]; MQTT 5.0 section 3.1.4 [MQTT-3.1.4-5]; mq9: website/docs/faq.md"},
	Category: Liveness, Checker: "connects@2", Protocols: every, Rests: history.PromiseProtocol, New: newConnects, Timed: true, canary: lockOut,
	ByHand: true,
}

// connectBound is how long a client tries before it counts as kept out.
const connectBound = int64(10e9)

// connects judges that clients of the workload are let in. One is kept out where it
// tried for connectBound, no fault being in place, was never let in, and a node that
// it tried then let in the harness, which knows one way to speak the protocol and no
// library. A client that a starved process never had connect is not kept out: its
// driver did not end in order, or the packets that were recorded of others have no
// CONNECT of it.
type connects struct {
	ledger  *ledger
	bounded bool         // the broker may have limits that are not known
	of      []connecting // by process
	ours    []admission
}

// A connecting is one client's attempts.
type connecting struct {
	in, ended bool
	attempts  int64
	first     int64 // time; never for none
	call, row int64 // of the last, and of its return; None for none
	node      int16
	text      string // why the last failed
}

// An admission is that a node let in the harness.
type admission struct {
	call, row, time int64
	node            int16
	text            string // what was said
}

func newConnects(ctx Context) Checker {
	c := &connects{ledger: ctx.ledger, bounded: ctx.Run.Cluster.Lacks[history.LacksLimits] != "", of: make([]connecting, len(ctx.Tables.Processes))}
	for i := range c.of {
		c.of[i].first = never
	}
	return c
}

func (c *connects) Add(b *history.Batch) {
	for _, i := range c.ledger.rows(b).control {
		i := int(i)
		switch {
		case b.Kind[i] == history.KindEnd && uint32(b.Process[i]) < uint32(len(c.of)):
			c.of[b.Process[i]].ended = true
		case b.Kind[i] != history.KindConnect || b.Edge[i] == history.Point:
		case b.Process[i] == history.None:
			if b.Edge[i] == history.Return && b.Outcome[i] == history.OK {
				c.ours = append(c.ours, admission{b.Call[i], b.Index[i], b.Time[i], b.Node[i], b.Text(i)})
			}
		case uint32(b.Process[i]) < uint32(len(c.of)):
			c.attempt(b, i, &c.of[b.Process[i]])
		}
	}
}

func (c *connects) attempt(b *history.Batch, i int, p *connecting) {
	if b.Edge[i] == history.Call {
		p.first, p.attempts = min(p.first, b.Time[i]), p.attempts+1
		p.call, p.row, p.node, p.text = b.Index[i], history.None, b.Node[i], "no answer yet"
		return
	}
	p.in = p.in || b.Outcome[i] == history.OK
	p.call, p.row, p.text = b.Call[i], b.Index[i], b.Text(i)
}

func (c *connects) Result(*closing) verdict.Result {
	var found findings
	var in int64
	var full string
	inOrder := slices.ContainsFunc(c.of, func(p connecting) bool { return p.ended }) // else the record was cut off, and shows no end
	for i := range c.of {
		p := &c.of[i]
		switch {
		case c.ledger.route.probed(int32(i)):
		case p.in:
			in++
		case p.first != never && (p.ended || !inOrder) && !c.ledger.wire.neverAsked(int32(i)):
			ours, why := c.letIn(p), c.ledger.wire.fullFor(int32(i))
			switch {
			case ours != nil && c.bounded && why != "":
				full = sentence("the broker refused %s with %q: it may be full", c.ledger.process(int32(i)), why)
			case ours != nil:
				found.add(c.keptOut(int32(i), p, ours))
			}
		}
	}
	r := found.judged(in+found.total, map[string]int64{"clients": in + found.total, "kept_out": found.total}, "no client connected, and for none is it certain that it should have")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("all of %d clients were let in", in)
		if full != "" {
			r.Summary = summary("%d clients were let in", in)
			unsure(&r, full+"; let it take more clients, or run with fewer")
		}
	case verdict.Fail:
		r.Summary = summary("%d of %d clients were never let in, the first: %s", found.total, in+found.total, r.Anomalies[0].Text)
	}
	return r
}

// letIn returns an admission of the harness after a client had tried for long enough
// since the last fault; nil if there was none.
func (c *connects) letIn(p *connecting) *admission {
	for i := range c.ours {
		o := &c.ours[i]
		from := p.first
		for _, w := range c.ledger.windows {
			if int64(w.Start) <= o.time {
				from = max(from, int64(w.End))
			}
		}
		if o.time-from >= connectBound && (o.node == p.node || p.node == history.None) {
			return o
		}
	}
	return nil
}

func (c *connects) keptOut(process int32, p *connecting, ours *admission) verdict.Anomaly {
	l := c.ledger
	a := verdict.Anomaly{
		Kind: "kept-out", Process: process, Stream: history.None, Seq: history.None, TimeNS: p.first, Events: events(p.call, p.row, ours.call, ours.row),
		Text: sentence("%s (%s) tried to connect %d times from %s on and was never let in: %s; %s let rmq-mcp in at %s: %s",
			l.process(process), l.tables.Processes[process].SDK, p.attempts, clock(p.first), p.text, l.node(ours.node), clock(ours.time), ours.text),
	}
	if shown := l.wire.keptOutBy(process); shown.words != "" {
		a.Blame = shown.by
		a.Text += "; the wire shows " + shown.words
		a.Events = events(append(a.Events, shown.rows...)...)
	}
	return a
}

// lockOut lets one client never in, and in the end the harness in its place.
func lockOut(ctx Context) *mutation {
	m := &mutation{idle: "no client was let in"}
	l := ctx.ledger
	process, node, end := int32(history.None), int16(history.None), int64(0)
	for _, w := range l.windows {
		end = max(end, int64(w.End))
	}
	if end == never {
		m.idle = "a fault was in place to the end"
		return m
	}
	m.apply = func(b *history.Batch) *history.Batch {
		out := b
		for _, i := range l.rows(b).control {
			if b.Kind[i] != history.KindConnect || b.Process[i] == history.None || b.Edge[i] != history.Return || b.Outcome[i] != history.OK {
				continue
			}
			if process == history.None && !l.route.probed(b.Process[i]) {
				process = b.Process[i]
				m.did = "let " + l.process(process) + " never in"
			}
			if b.Process[i] == process {
				node, end = b.Node[i], max(end, b.Time[i])
				out = failing(out, int(i))
			}
		}
		return out
	}
	m.end = func() []history.Event {
		if process == history.None {
			return nil
		}
		return []history.Event{{
			Time: time.Duration(end + connectBound), Index: history.None, Call: history.None, Process: history.None, Conn: history.None,
			Kind: history.KindConnect, Edge: history.Return, Outcome: history.OK, Node: node, Stream: history.None, Seq: history.None, ID: history.None,
		}}
	}
	return m
}

func (c *connects) fork() Checker {
	f := *c
	f.of, f.ours = slices.Clone(c.of), slices.Clone(c.ours)
	return &f
}
