package checker

import (
	"maps"
	"math"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimNoLeak = Entry{
	Claim: verdict.Claim{Name: "no-leak", Severity: verdict.P2,
		Text:   "A connection that its client has closed is closed by the broker too, ten seconds after the last fault at the latest.",
		Source: "common expectation of a server"},
	Category: Operational, Checker: "leaks@1", Protocols: mqtt, Rests: history.PromiseProtocol, New: newLeaks, Timed: true, canary: leaveOpen,
	Sees: history.LacksResources, Plain: true,
}

// leaks judges that nobody's connection outlives its client: the last reading of
// a node, ten seconds after the last heal or later, shows none.
type leaks struct {
	ledger *ledger
	last   map[int16]sighting // the last reading of each node; seq is its value
}

func newLeaks(ctx Context) Checker { return &leaks{ledger: ctx.ledger, last: map[int16]sighting{}} }

func (c *leaks) Add(b *history.Batch) {
	for _, i := range c.ledger.rows(b).control {
		if n := b.Node[i]; b.Kind[i] == history.KindObserve && n >= 0 && b.Text(int(i)) == history.ObserveDeserted {
			c.last[n] = sighting{node: n, seq: int64(b.Value[i]), t: b.Time[i], index: b.Index[i]}
		}
	}
}

func (c *leaks) fork() Checker {
	f := *c
	f.last = maps.Clone(c.last)
	return &f
}

// settles returns the time ten seconds after the last fault was healed.
func (c *leaks) settles() (t int64) {
	for _, w := range c.ledger.windows {
		if w.End == math.MaxInt64 { // it was never healed
			return math.MaxInt64
		}
		t = max(t, int64(w.End)+10e9)
	}
	return t
}

func (c *leaks) Result(*closing) verdict.Result {
	var found findings
	read, from := int64(0), c.settles()
	for n := range int16(len(c.ledger.tables.Nodes)) {
		s, ok := c.last[n]
		if !ok || s.t < from {
			continue
		}
		read++
		if s.seq > 0 {
			found.add(verdict.Anomaly{
				Kind: "leak", Process: history.None, Stream: history.None, Seq: history.None, TimeNS: s.t, Events: events(s.index),
				Text: sentence("%s still has %d connections at %s that their clients closed ten seconds before or earlier", c.ledger.node(n), s.seq, clock(s.t)),
			})
		}
	}
	r := found.judged(read, map[string]int64{"nodes": read, "leaking": found.total}, "no node's connections were read later than ten seconds after the last fault")
	if r.Status == verdict.Pass {
		r.Summary = summary("%d nodes have closed every connection that its client closed", read)
	}
	if r.Status == verdict.Fail {
		r.Summary = r.Anomalies[0].Text
	}
	return r
}

// leaveOpen has every node that was read keep a connection.
func leaveOpen(ctx Context) *mutation {
	m := &mutation{idle: "no node's connections were read"}
	m.apply = func(b *history.Batch) *history.Batch {
		kept := b
		for _, i := range ctx.ledger.rows(b).control {
			if b.Kind[i] != history.KindObserve || b.Node[i] < 0 || b.Text(int(i)) != history.ObserveDeserted {
				continue
			}
			if kept == b {
				c := *b
				c.Value = slices.Clone(b.Value[:b.N])
				kept = &c
			}
			kept.Value[i] = 1
			m.did = "left a connection open at every node that its client closed"
		}
		return kept
	}
	return m
}
