package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// nodePairs counts deliveries by the publisher's node at the time of the publish, and
// by the subscriber's node. A sum over the cluster would hide a node that delivers
// nothing to another. Probes are left out: they are few, and recovery judges them.
type nodePairs struct {
	ledger *ledger
	nodes  int
	of     []nodePair // by publisher's node, then by subscriber's
	sends  []bool     // whether anything was published at a node
	heard  []bool     // whether a subscriber ever was at a node
	where  []stay     // of each process
	writer []bool     // whether each process publishes
	tells  []int32    // by node: publishers that are connected there
	reach  [][]int32  // by node and stream: subscribers of it that are connected there
	last   int64      // when the last message of all was delivered
}

// A stay is the node that a process is, or was last, connected to.
type stay struct {
	node int16
	on   bool // it is connected
}

// A nodePair counts the deliveries from one node to another. It is silent while nothing
// comes, although a message was published at the one for a subscriber connected to the
// other. A silence ends with the last client on either side: nobody knows what a node
// without a publisher or a subscriber would deliver.
type nodePair struct {
	delivered, silent int64
	since             int64 // the first publish behind the last delivery; 0: none
}

func newNodePairs(l *ledger) *nodePairs {
	n, processes := len(l.tables.Nodes), len(l.tables.Processes)
	c := &nodePairs{
		ledger: l, nodes: n, of: make([]nodePair, n*n), sends: make([]bool, n), heard: make([]bool, n),
		where: make([]stay, processes), writer: make([]bool, processes), tells: make([]int32, n), reach: make([][]int32, n),
	}
	for p := range c.where {
		c.where[p].node = history.None
	}
	for _, s := range l.tables.Streams {
		if uint32(s.Producer) < uint32(processes) {
			c.writer[s.Producer] = true
		}
	}
	for i := range c.reach {
		c.reach[i] = make([]int32, len(l.tables.Streams))
	}
	return c
}

// pair returns the pair of two nodes, nil where one is unknown.
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
	for i, kind := range b.Kind[:b.N] { // in their order: who is connected says what a publish is for
		switch kind {
		case history.KindDeliver:
			c.delivered(b, i)
		case history.KindPublish:
			c.published(b, i)
		case history.KindConnect, history.KindDisconnect, history.KindPause, history.KindResume:
			c.control(b, i)
		}
	}
}

func (c *nodePairs) delivered(b *history.Batch, i int) {
	m := c.ledger.sends.find(b.Stream[i], b.Seq[i])
	if m == nil || !c.ledger.works(b.Stream[i]) {
		return
	}
	if p := c.pair(m.node, b.Node[i]); p != nil {
		p.delivered++
		p.rest(b.Time[i])
		c.last = max(c.last, b.Time[i])
	}
}

// rest ends the pair's silence, if it is silent, and notes how long that was.
func (p *nodePair) rest(now int64) {
	if p.since > 0 {
		p.silent, p.since = max(p.silent, now-p.since), 0
	}
}

// control follows who is connected where.
func (c *nodePairs) control(b *history.Batch, i int) {
	p := b.Process[i]
	if uint32(p) >= uint32(len(c.where)) || c.ledger.route.probed(p) {
		return
	}
	switch {
	case b.Kind[i] == history.KindConnect && b.Edge[i] == history.Return && b.Outcome[i] == history.OK && uint(b.Node[i]) < uint(c.nodes):
		if c.where[p] == (stay{b.Node[i], true}) { // nobody noted that it had left
			return
		}
		c.leave(p, b.Time[i])
		c.where[p] = stay{b.Node[i], true}
		c.count(p, 1)
	case b.Kind[i] == history.KindResume:
		if s := &c.where[p]; s.node != history.None && !s.on {
			s.on = true
			c.count(p, 1)
		}
	case b.Kind[i] == history.KindDisconnect, b.Kind[i] == history.KindPause:
		c.leave(p, b.Time[i])
	}
}

// leave takes a client away.
func (c *nodePairs) leave(p int32, now int64) {
	s := &c.where[p]
	if !s.on {
		return
	}
	s.on = false
	c.count(p, -1)
	for other := range int16(c.nodes) {
		if c.tells[s.node] == 0 {
			c.pair(s.node, other).rest(now)
		}
		if !slices.ContainsFunc(c.reach[s.node], func(n int32) bool { return n > 0 }) {
			c.pair(other, s.node).rest(now)
		}
	}
}

// count counts a client at its node.
func (c *nodePairs) count(p int32, more int32) {
	node := c.where[p].node
	if c.writer[p] {
		c.tells[node] += more
	}
	if len(c.ledger.tables.Processes[p].Filters) == 0 {
		return
	}
	c.heard[node] = true
	for s := range c.ledger.tables.Streams {
		if c.ledger.route.at(p, int32(s)) >= 0 {
			c.reach[node][s] += more
		}
	}
}

func (c *nodePairs) published(b *history.Batch, i int) {
	from, s := b.Node[i], b.Stream[i]
	if b.Edge[i] != history.Call || uint(from) >= uint(c.nodes) || !c.ledger.works(s) {
		return
	}
	c.sends[from] = true
	for to := range int16(c.nodes) {
		if p := c.pair(from, to); p.since == 0 && c.reach[to][s] > 0 {
			p.since = b.Time[i]
		}
	}
}

// result lists every pair of nodes with a publish at the one and a subscriber at the
// other. Lost messages count at the last node of their subscriber, those of a group at none.
func (c *nodePairs) result(all *losses, end *closing) (list []verdict.NodePair) {
	gone := make([]int64, len(c.of))
	all.each(end, func(is miss) {
		m, at := c.ledger.sends.find(is.stream, is.seq), c.where[is.members[0]].node
		if is.group == history.None && m != nil && c.pair(m.node, at) != nil {
			gone[int(m.node)*c.nodes+int(at)]++
		}
	})
	for from := range int16(c.nodes) {
		for to := range int16(c.nodes) {
			if !c.sends[from] || !c.heard[to] {
				continue
			}
			p := *c.pair(from, to)
			p.rest(c.last)
			list = append(list, verdict.NodePair{
				From: c.ledger.node(from), To: c.ledger.node(to), Delivered: p.delivered, Lost: gone[int(from)*c.nodes+int(to)], SilentS: float64(p.silent) / 1e9,
			})
		}
	}
	return list
}
