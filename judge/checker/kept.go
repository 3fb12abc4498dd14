package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSessionKept = Entry{
	Claim: verdict.Claim{Name: "session-kept", Severity: verdict.P2, Gated: true,
		Text:   "If the Server accepts a connection with CleanSession set to 0 and has stored Session state, it MUST set Session Present to 1; the session lasts as long as was asked for.",
		Source: "MQTT 3.1.1 sections 3.1.2.4 [MQTT-3.1.2-4] and 3.2.2.2 [MQTT-3.2.2-2]; MQTT 5.0 section 3.1.2.11.2"},
	Category: Durability, Checker: "session@4", Protocols: mqtt, Rests: history.PromiseSessions, New: newKept, canary: forget,
	ByFault: true, Unjudged: firstOf(oneCopy, unseen),
	Notice: Notice{"lost sessions", "mqtt/persistent-session"},
}

// kept judges that the broker still knows a session when its client comes back
// within its time.
type kept struct {
	ledger *ledger
	judged []bool  // by process
	since  []int64 // by process: the time of its last connect
	back   int64   // connections that resumed a session, or should have
	doubts []string
	found  findings
}

func newKept(ctx Context) Checker {
	l := ctx.ledger
	c := &kept{ledger: l, judged: make([]bool, len(l.tables.Processes)), since: make([]int64, len(l.tables.Processes))}
	for i, p := range l.tables.Processes {
		c.judged[i] = !slices.Contains(p.Cannot, contract.CannotSessionPresent)
	}
	return c
}

func (c *kept) Add(b *history.Batch) {
	for _, i := range c.ledger.rows(b).control {
		i := int(i)
		if b.Kind[i] != history.KindConnect || b.Edge[i] != history.Return || uint32(b.Process[i]) >= uint32(len(c.judged)) || !c.judged[b.Process[i]] {
			continue
		}
		why, back := c.ledger.sessions.promises[b.Index[i]]
		switch {
		case !back || excuses[why].session == unowed:
		case b.Flags[i].Has(history.FlagSessionPresent):
			c.back++
		case excuses[why].session == unknown:
			c.doubts = append(c.doubts, sentence("%s came back at %s, and the broker did not know its session: %s", c.ledger.process(b.Process[i]), clock(b.Time[i]), why))
		default:
			c.back++
			c.lost(b, i)
		}
		if b.Outcome[i] == history.OK {
			c.since[b.Process[i]] = b.Time[i]
		}
	}
}

func (c *kept) lost(b *history.Batch, i int) {
	l, p := c.ledger, b.Process[i]
	fault := l.fault(b.Time[i])
	a := verdict.Anomaly{
		Kind: "session-lost", Process: p, Stream: history.None, Seq: history.None, TimeNS: b.Time[i],
		Fault: fault, Events: events(b.Call[i], b.Index[i]),
		Text: sentence("%s came back at %s within its session's time, and the broker did not know it%s", l.process(p), clock(b.Time[i]), under(fault)), Expected: l.kills.tookSession(c.since[p], b.Time[i]),
	}
	l.accuse(&a, l.wire.forgottenBy(p, b.Call[i], b.Index[i]))
	c.found.add(a)
}

func (c *kept) Result(*closing) verdict.Result {
	r := c.found.judged(c.back, map[string]int64{"reconnects": c.back, "session_lost": c.found.total},
		"no client with a persistent session came back")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("%d reconnections found their session", c.back)
	case verdict.Fail:
		r.Summary = summary("%d of %d reconnections found no session, the first: %s", c.found.total, c.back, r.Anomalies[0].Text)
	}
	if r.Status != verdict.Fail && len(c.doubts) > 0 {
		unsure(&r, c.doubts[0], some(c.doubts[1:])...)
	}
	return r
}

// forget lets the broker know no session of a client that comes back.
func forget(ctx Context) *mutation {
	m := &mutation{idle: "no session was resumed before its time was certainly over"}
	m.apply = func(b *history.Batch) *history.Batch {
		out := b
		for _, i := range ctx.ledger.rows(b).control {
			why, back := ctx.ledger.sessions.promises[b.Index[i]]
			if back && why == none && b.Flags[i].Has(history.FlagSessionPresent) {
				out = reflagged(out, int(i), out.Flags[i]&^history.FlagSessionPresent)
				m.did = "took the session from every client that came back"
			}
		}
		return out
	}
	return m
}

func (c *kept) fork() Checker {
	f := *c
	f.since, f.doubts, f.found = slices.Clone(c.since), slices.Clone(c.doubts), c.found.fork()
	return &f
}
