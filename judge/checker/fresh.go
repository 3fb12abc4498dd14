package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSessionFresh = Entry{
	Claim: verdict.Claim{Name: "session-fresh", Severity: verdict.P2, Gated: true,
		Text:   "If the Server accepts a connection with CleanSession set to 1, the Server MUST set Session Present to 0; likewise if it has no stored Session state, as of a Client Identifier that nobody has used.",
		Source: "MQTT 3.1.1 section 3.2.2.2 [MQTT-3.2.2-1], [MQTT-3.2.2-3]; MQTT 5.0 section 3.2.2.1.1 [MQTT-3.2.2-2], [MQTT-3.2.2-3]"},
	Category: Isolation, Checker: "fresh@3", Protocols: mqtt, Rests: history.PromiseProtocol, New: newFresh, canary: keepSession,
	ByFault: true, Unjudged: unseen,
}

// fresh judges that no client is told of a session that was never there. There is none
// on the first connection of a client, whose identifier is of this run alone, and none
// where it asked for a clean session. Its packets show what it asked for, and how often: the second
// CONNECT of one call may find the session of the first. Without
// packets its driver's orders count, for MQTT 3.1.1 only: with MQTT 5 some SDKs ask for
// a clean session on their first connection only.
type fresh struct {
	ledger   *ledger
	called   []bool         // by process: it has tried to connect
	first    map[int64]bool // CONNECTs under way, by row: the client's first
	judged   int64
	suspects []greeted
}

// A greeted is a connection whose CONNACK had session present.
type greeted struct {
	process      int32
	call, row, t int64
	first        bool // of its client; else its driver was to ask for a clean session
}

func newFresh(ctx Context) Checker {
	return &fresh{ledger: ctx.ledger, called: make([]bool, len(ctx.Tables.Processes)), first: map[int64]bool{}}
}

func (c *fresh) fork() Checker {
	f := *c
	f.called, f.first, f.suspects = slices.Clone(c.called), maps.Clone(c.first), slices.Clone(c.suspects)
	return &f
}

func (c *fresh) Add(b *history.Batch) {
	for _, i := range c.ledger.rows(b).control {
		p := b.Process[i]
		if b.Kind[i] != history.KindConnect || uint32(p) >= uint32(len(c.called)) {
			continue
		}
		switch b.Edge[i] {
		case history.Call:
			c.first[b.Index[i]] = !c.called[p]
			c.called[p] = true
		case history.Return:
			c.greet(b, int(i))
		}
	}
}

func (c *fresh) greet(b *history.Batch, i int) {
	first, process := c.first[b.Call[i]], c.ledger.tables.Processes[b.Process[i]]
	delete(c.first, b.Call[i])
	clean := process.Clean && (process.Protocol != contract.MQTT5 || c.ledger.wire.on)
	if b.Outcome[i] != history.OK || !first && !clean || process.Protocol == contract.MQ9 || slices.Contains(process.Cannot, contract.CannotSessionPresent) {
		return
	}
	c.judged++
	if b.Flags[i].Has(history.FlagSessionPresent) {
		c.suspects = append(c.suspects, greeted{b.Process[i], b.Call[i], b.Index[i], b.Time[i], first})
	}
}

func (c *fresh) Result(*closing) verdict.Result {
	var found findings
	l := c.ledger
	for _, s := range c.suspects {
		var g *greeting
		if l.wire.on {
			g = l.wire.clients[s.process].greetedIn(s.call, s.row)
		}
		if g != nil && !g.clean && !s.first { // it did not ask for one
			continue
		}
		if s.first && l.wire.on && (g == nil || !g.clean) {
			if second := l.wire.clients[s.process].lasting[1]; second > 0 && second < s.row {
				c.judged--
				continue
			}
		}
		why, fault := "asked for a clean session", l.fault(s.t)
		if s.first {
			why = "had never connected before"
		}
		a := verdict.Anomaly{
			Kind: "session-feigned", Process: s.process, Stream: history.None, Seq: history.None, TimeNS: s.t,
			Fault: fault, Events: events(s.call, s.row),
			Text: sentence("%s %s, and was told at %s that its session was there%s", l.process(s.process), why, clock(s.t), under(fault)),
		}
		l.accuse(&a, feignedBy(g))
		found.add(a)
	}
	r := found.judged(c.judged, map[string]int64{"connections": c.judged, "feigned": found.total}, "no client connected for the first time or asked for a clean session")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("%d connections that could have no session were told of none", c.judged)
	case verdict.Fail:
		r.Summary = summary("%d of %d connections that could have no session were told of one, the first: %s", found.total, c.judged, r.Anomalies[0].Text)
	}
	return r
}
