package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimNoExit = Entry{
	Claim: verdict.Claim{Name: "no-exit", Severity: verdict.P1,
		Text:   "Unless it is made to, a broker does not end: whatever its clients and its network do, its process goes on.",
		Source: "common expectation of a server"},
	Category: Operational, Checker: "exits@2", Protocols: every, Rests: history.PromiseProtocol, New: newExits, canary: endNode,
	Sees: history.LacksProcesses, ByHand: true, Excused: excused("a process that gets no memory or no thread may end", "memory", "pids"),
	Notice: Notice{"ends of nodes that no fault explains", "mqtt/broker-kill-9"},
}

// exits judges that no node's process ends by itself.
type exits struct {
	ledger *ledger
	lacks  string // why nobody sees how they end
	seen   exitLog
	found  findings
	untold *exit // the first without a known cause
}

func newExits(ctx Context) Checker {
	return &exits{ledger: ctx.ledger, lacks: ctx.Run.Cluster.Lacks[history.LacksProcesses]}
}

func (c *exits) Add(b *history.Batch) {
	c.seen.add(c.ledger, b, func(e exit) {
		if e.cause == byNobody && c.untold == nil {
			c.untold = &e
		}
		if e.cause != byItself {
			return
		}
		fault := c.ledger.fault(e.at)
		c.found.add(verdict.Anomaly{
			Kind: verdict.KindExit, Process: history.None, Stream: history.None, Seq: history.None, TimeNS: e.at,
			Fault: fault, Events: events(e.row),
			Text: sentence("%s ended by itself (%s), at %s%s", c.ledger.node(e.node), e.how(), clock(e.at), under(fault)),
		})
	})
}

func (c *exits) Result(*closing) verdict.Result {
	if c.lacks != "" {
		return unjudged(c.lacks)
	}
	n := int64(len(c.ledger.tables.Nodes))
	r := c.found.judged(n, map[string]int64{"nodes": n, "exits": c.found.total}, "no node is known")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("none of %d nodes ended by itself", n)
		if c.untold != nil {
			r.Summary = summary("the process of %s ended at %s by no fault of this run", c.ledger.node(c.untold.node), clock(c.untold.at))
			unsure(&r, "only its parent knows whether it ended by itself")
		}
	case verdict.Fail:
		r.Summary = summary("%d exits, the first: %s", c.found.total, r.Anomalies[0].Text)
	}
	return r
}

// An exit is how the process of a node ended, and by whom.
type exit struct {
	node   int16
	at     int64
	row    int64
	signal uint8 // 0 for none
	status float64
	cause  cause
}

// A cause is who ended a process.
type cause uint8

const (
	byUs cause = iota // we did, or a fault of ours may have
	byItself
	byKernel   // there was no memory for it
	byStranger // by elimination
	byNobody   // that is known: only its parent was told how
)

// how says it as people do.
func (e exit) how() string {
	switch {
	case e.signal > 0:
		return sentence("signal %d", e.signal)
	case e.status < 0:
		return "only its parent knows the status"
	}
	return sentence("status %.0f", e.status)
}

// exitLog tell which process ended by whose doing.
type exitLog struct {
	starved map[int16]bool // nodes whose process the kernel's memory killer ended, until that is told
}

func (f *exitLog) add(l *ledger, b *history.Batch, tell func(exit)) {
	for _, i := range l.rows(b).control {
		if b.Kind[i] != history.KindObserve || b.Node[i] < 0 {
			continue
		}
		switch b.Text(int(i)) {
		case history.ObserveMemoryKill:
			if f.starved == nil {
				f.starved = map[int16]bool{}
			}
			f.starved[b.Node[i]] = true
		case history.ObserveExit:
			e := exit{node: b.Node[i], at: b.Time[i], row: b.Index[i], signal: b.Reason[i], status: b.Value[i]}
			e.cause = l.endedBy(e, b.Outcome[i] == history.OK, f.starved[e.node])
			delete(f.starved, e.node)
			tell(e)
		}
	}
}

// endedBy says by whom a process ended. Signals that a program sends itself, or is sent for what it
// did, are its own: SIGABRT, SIGSEGV and their like.
func (l *ledger) endedBy(e exit, asked, starved bool) cause {
	const hangUp, interrupt, endNode, kill, term = 1, 2, 3, 9, 15
	switch {
	case asked || l.mayEnd(e.node, e.at):
		return byUs
	case starved:
		return byKernel
	case e.signal == 0 && e.status < 0 && l.maltreated(e.node, e.at):
		return byItself
	case e.signal == 0 && e.status < 0:
		return byNobody
	case slices.Contains([]uint8{hangUp, interrupt, endNode, kill, term}, e.signal):
		return byStranger
	}
	return byItself
}

// mayEnd reports whether a fault was in place by which the process of a node may
// end.
func (l *ledger) mayEnd(node int16, at int64) bool {
	return slices.ContainsFunc(l.landings, func(f history.Landing) bool {
		t := f.Times
		return f.Ends && t.StartNS() > 0 && t.StartNS() <= at && (t.HealedNS == 0 || at <= t.HealedNS) &&
			slices.Contains(f.Nodes, l.node(node))
	})
}

// maltreated reports whether a node met malformed packets shortly before.
func (l *ledger) maltreated(node int16, at int64) bool {
	return slices.ContainsFunc(l.landings, func(f history.Landing) bool {
		t := f.Times
		return f.Type == "malformed" && t.StartNS() > 0 && t.StartNS() <= at && (t.HealedNS == 0 || at <= t.HealedNS+int64(history.Settling)) &&
			slices.Contains(f.Nodes, l.node(node))
	})
}

// endNode ends the process of the first node by itself.
func endNode(ctx Context) *mutation {
	return showing(ctx, history.ObserveExit, "had the process of %s end with status 1")
}

func (c *exits) fork() Checker {
	f := *c
	f.seen.starved, f.found = maps.Clone(c.seen.starved), c.found.fork()
	return &f
}
