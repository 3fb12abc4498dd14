package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSessionExpiry = Entry{
	Claim: verdict.Claim{Name: "session-expiry", Severity: verdict.P2, Gated: true,
		Text:   "The Server MUST discard the Session State when the Network Connection is closed and the Session Expiry Interval has passed, within the time that the scenario bounds (expiry_s).",
		Source: "MQTT 5.0 sections 4.1.0 [MQTT-4.1.0-2], 3.1.2.11.2 and 3.2.2.3.2"},
	Category: Safety, Checker: "outlived@3", Protocols: []string{contract.MQTT5}, Rests: history.PromiseExpiry, New: newOutlived, Timed: true, canary: keepSession,
	ByFault: true, Unjudged: unbounded,
}

// outlived judges that a session is gone when its client comes back after the session's
// expiry and the time that the scenario allows (expiry_s). The expiry is the one in the
// client's DISCONNECT, else in the broker's CONNACK, else in the client's CONNECT, so
// only clients with recorded packets are judged. A fault on anything but another client starts the
// time again at its end: the broker may not have known the time, or that the client was gone. So does
// an attempt to connect that may have succeeded. The claim
// session-kept judges that the session is there before.
type outlived struct {
	ledger *ledger
	slack  int64
	of     []absence
	dials  dials
	back   int64 // connections after the end of their session
	found  findings
}

// An absence is how long a process has been away.
type absence struct {
	judged    bool
	calling   bool  // it has called CONNECT, and that did not return
	known     bool  // it was connected before
	left      int64 // the latest time at which the broker may have had it
	call, row int64 // of the connect before
}

// dials are the CONNECTs under way: the times of the calls, by their rows.
type dials map[int64]int64

func (d dials) call(b *history.Batch, i int) { d[b.Index[i]] = b.Time[i] }

// end returns when the CONNECT that returns in a row was called. Without a recorded
// call it is the time of the return.
func (d dials) end(b *history.Batch, i int) int64 {
	sent, ok := d[b.Call[i]]
	if !ok {
		sent = b.Time[i]
	}
	delete(d, b.Call[i])
	return sent
}

func newOutlived(ctx Context) Checker {
	l := ctx.ledger
	c := &outlived{ledger: l, slack: expirySlack(ctx), of: make([]absence, len(l.tables.Processes)), dials: dials{}}
	for i, p := range l.tables.Processes {
		c.of[i].judged = p.Protocol == contract.MQTT5 && !p.Clean && !slices.Contains(p.Cannot, contract.CannotSessionPresent)
	}
	return c
}

func (c *outlived) fork() Checker {
	f := *c
	f.of, f.dials, f.found = slices.Clone(c.of), maps.Clone(c.dials), c.found.fork()
	return &f
}

func (c *outlived) Add(b *history.Batch) {
	for _, i := range c.ledger.rows(b).control {
		i, k := int(i), b.Kind[i]
		if k != history.KindConnect && k != history.KindDisconnect || uint32(b.Process[i]) >= uint32(len(c.of)) {
			continue
		}
		p := &c.of[b.Process[i]]
		switch {
		case k == history.KindDisconnect:
			p.left = max(p.left, b.Time[i])
		case b.Edge[i] == history.Call:
			if p.calling {
				p.left = b.Time[i]
			}
			p.calling = true
			c.dials.call(b, i)
		case b.Edge[i] == history.Return:
			p.calling = false
			c.connect(b, i, p)
		}
	}
}

func (c *outlived) connect(b *history.Batch, i int, p *absence) {
	sent := c.dials.end(b, i)
	if b.Outcome[i] != history.OK {
		p.left = max(p.left, b.Time[i])
		return
	}
	if c.over(b.Process[i], p, sent) {
		c.back++
		if b.Flags[i].Has(history.FlagSessionPresent) {
			c.stayed(b, i, p, sent)
		}
	}
	p.known, p.left, p.call, p.row = true, b.Time[i], b.Call[i], b.Index[i]
}

// over reports whether a session's time was over when its client sent CONNECT.
func (c *outlived) over(process int32, p *absence, sent int64) bool {
	if !p.judged || !p.known || !c.ledger.wire.on {
		return false
	}
	g := c.ledger.wire.clients[process].greetedIn(p.call, p.row)
	if g == nil || g.expiryS < 0 || g.expiryS >= noExpiry {
		return false
	}
	return c.ledger.calm(process, p.left, sent) > int64(g.expiryS*1e9)+c.slack+c.late(process, p.left, sent)
}

// late returns how much later a broker may end a session for the faults between two times: a clock
// may have moved. A broker that did not end with the fault may notice after it that the client is
// gone.
func (c *outlived) late(process int32, left, sent int64) int64 {
	late := c.ledger.clocksMoved(left, sent)
	for _, f := range history.Concerning(c.ledger.landings, process, c.ledger.tables.Processes[process]) {
		if !f.Ends && !f.Rolling && overlap(history.Windows([]history.Landing{f}), left, sent) {
			return late + int64(history.Noticing)
		}
	}
	return late
}

func (c *outlived) stayed(b *history.Batch, i int, p *absence, sent int64) {
	l, process := c.ledger, b.Process[i]
	a := verdict.Anomaly{
		Kind: "session-outlived", Process: process, Stream: history.None, Seq: history.None, TimeNS: b.Time[i], Events: events(b.Call[i], b.Index[i]),
		Text: sentence("%s came back at %s, %s after it had left, and the broker still had its session, which had expired", l.process(process), clock(b.Time[i]), clock(sent-p.left)),
	}
	l.accuse(&a, feignedBy(l.wire.clients[process].greetedIn(b.Call[i], b.Index[i])))
	c.found.add(a)
}

func (c *outlived) Result(*closing) verdict.Result {
	nobody := "no client came back after the end of its session"
	if !c.ledger.wire.on {
		nobody = "the packets were not recorded, in which a broker says how long it keeps a session; start with arm [tap]"
	}
	r := c.found.judged(c.back, map[string]int64{"reconnects": c.back, "session_outlived": c.found.total}, nobody)
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("%d reconnections after the end of a session found none", c.back)
	case verdict.Fail:
		r.Summary = summary("%d of %d reconnections found a session that had expired, the first: %s", c.found.total, c.back, r.Anomalies[0].Text)
	}
	return r
}

// keepSession lets the broker have the session of every client that comes back.
func keepSession(ctx Context) *mutation {
	m := &mutation{idle: "no client came back without a session"}
	m.apply = func(b *history.Batch) *history.Batch {
		out := b
		for _, i := range ctx.ledger.rows(b).control {
			if b.Kind[i] == history.KindConnect && b.Edge[i] == history.Return && b.Outcome[i] == history.OK && !b.Flags[i].Has(history.FlagSessionPresent) {
				out = reflagged(out, int(i), out.Flags[i]|history.FlagSessionPresent)
				m.did = "gave a session to every client that connected"
			}
		}
		return out
	}
	return m
}
