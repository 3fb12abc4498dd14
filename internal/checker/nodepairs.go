package checker

import (
	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/verdict"
)

// nodePairs count deliveries by the node that a message was published at and the node
// that its subscriber was connected to: a sum over a cluster hides one that delivers
// nothing to another. Probes are left out, which publish to themselves.
type nodePairs struct {
	ledger *ledger
	nodes  int
	of     []nodePair // by publisher's node, then by subscriber's
	first  []int64    // when a message was first published at a node
	last   int64      // when the last one of all was delivered
	at     []int16    // the node that each process is, or was last, connected to
	heard  []bool     // whether a subscriber of the workload ever was at a node
}

type nodePair struct {
	delivered, last, silent int64
}

func newNodePairs(l *ledger) *nodePairs {
	n := len(l.tables.Nodes)
	c := &nodePairs{ledger: l, nodes: n, of: make([]nodePair, n*n), first: make([]int64, n), at: make([]int16, len(l.tables.Processes)), heard: make([]bool, n)}
	for p := range c.at {
		c.at[p] = history.None
	}
	return c
}

// pair is that of two nodes, nil where one is unknown.
func (c *nodePairs) pair(from, to int16) *nodePair {
	if uint(from) >= uint(c.nodes) || uint(to) >= uint(c.nodes) {
		return nil
	}
	return &c.of[int(from)*c.nodes+int(to)]
}

func (c *nodePairs) add(b *history.Batch) {
	if c.nodes < 2 {
		return
	}
	rows := c.ledger.rows(b)
	for _, i := range rows.control {
		if p := b.Process[i]; b.Kind[i] == history.KindConnect && b.Edge[i] == history.Return && b.Outcome[i] == history.OK && uint32(p) < uint32(len(c.at)) {
			c.at[p] = b.Node[i]
			if row := c.ledger.tables.Processes[p]; uint(b.Node[i]) < uint(c.nodes) && row.Group != groupProbe && len(row.Filters) > 0 {
				c.heard[b.Node[i]] = true
			}
		}
	}
	for _, i := range rows.published {
		if n := b.Node[i]; b.Edge[i] == history.Call && uint(n) < uint(c.nodes) && c.first[n] == 0 && c.ledger.works(b.Stream[i]) {
			c.first[n] = b.Time[i]
		}
	}
	for _, d := range rows.delivered {
		m := c.ledger.sends.find(b.Stream[d.i], d.seq)
		if m == nil || !c.ledger.works(b.Stream[d.i]) {
			continue
		}
		p, now := c.pair(m.node, b.Node[d.i]), b.Time[d.i]
		if p == nil {
			continue
		}
		if p.last == 0 {
			p.last = c.first[m.node]
		}
		p.delivered++
		p.silent = max(p.silent, now-p.last)
		p.last, c.last = now, max(c.last, now)
	}
}

// result lists every pair of nodes of which one published and the other subscribed.
// Lost is what Totals.Lost counts, at the node that the subscriber was at last.
func (c *nodePairs) result(lost []Span) []verdict.NodePair {
	counts, nodes := make([]int64, len(c.of)), c.ledger.tables.Nodes
	for _, s := range lost {
		for seq := s.First; seq <= s.Last; seq++ {
			m, to := c.ledger.sends.find(s.Stream, seq), int16(history.None)
			if uint32(s.Process) < uint32(len(c.at)) {
				to = c.at[s.Process]
			}
			if m != nil && c.pair(m.node, to) != nil {
				counts[int(m.node)*c.nodes+int(to)]++
			}
		}
	}
	var all []verdict.NodePair
	for from := range c.nodes {
		for to := range c.nodes {
			i := from*c.nodes + to
			p := c.of[i]
			if c.first[from] == 0 || !c.heard[to] {
				continue
			}
			if p.last == 0 {
				p.last = c.first[from]
			}
			silent := max(p.silent, c.last-p.last)
			all = append(all, verdict.NodePair{From: nodes[from].Name, To: nodes[to].Name, Delivered: p.delivered, Lost: counts[i], SilentS: float64(silent) / 1e9})
		}
	}
	return all
}
