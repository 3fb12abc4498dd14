package checker

import (
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimNoPanic = Entry{
	Claim: verdict.Claim{Name: "no-panic", Severity: verdict.P1,
		Text:   "A broker does not panic, whatever happens around it.",
		Source: "common expectation of a server"},
	Category: Operational, Checker: "panics@1", Protocols: every, Rests: history.PromiseProtocol, New: newPanics, canary: crash,
	Sees: history.LacksLogs, ByHand: true, Excused: excused("a process that gets no memory or no thread may end", "memory", "pids"),
	Notice: Notice{"panics in the logs", "mqtt/broker-kill-9"},
}

// panics judges that no node's log shows a panic.
type panics struct {
	ledger *ledger
	lacks  string // why no log can be read
	found  findings
}

func newPanics(ctx Context) Checker {
	return &panics{ledger: ctx.ledger, lacks: ctx.Run.Cluster.Lacks[history.LacksLogs]}
}

func (c *panics) Add(b *history.Batch) {
	for _, i := range c.ledger.rows(b).control {
		if b.Kind[i] == history.KindObserve && b.Text(int(i)) == history.ObservePanic {
			c.panicked(b, int(i))
		}
	}
}

func (c *panics) panicked(b *history.Batch, i int) {
	fault := c.ledger.fault(b.Time[i])
	c.found.add(verdict.Anomaly{
		Kind: "panic", Process: history.None, Stream: history.None, Seq: history.None, TimeNS: b.Time[i],
		Fault: fault, Events: events(b.Index[i]),
		Text: sentence("%s panicked, line %.0f of its log, at %s%s", c.ledger.node(b.Node[i]), b.Value[i], clock(b.Time[i]), under(fault)),
	})
}

func (c *panics) Result(*closing) verdict.Result {
	if c.lacks != "" {
		return unjudged(c.lacks)
	}
	n := int64(len(c.ledger.tables.Nodes))
	r := c.found.judged(n, map[string]int64{"nodes": n, "panics": c.found.total}, "no node is known")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("the logs of %d nodes show no panic", n)
	case verdict.Fail:
		r.Summary = summary("%d panics in the logs, the first: %s", c.found.total, r.Anomalies[0].Text)
	}
	return r
}

// crash adds a panic to the first node's log.
func crash(ctx Context) *mutation {
	return showing(ctx, history.ObservePanic, "added a panic to the log of %s")
}

func (c *panics) fork() Checker {
	f := *c
	f.found = c.found.fork()
	return &f
}
