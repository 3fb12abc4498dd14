package checker

import (
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// members count deliveries by member of each shared subscription: what the group has in
// sum hides a member that gets nothing.
type members struct {
	ledger *ledger
	of     []member // by process
}

// A member is silent from one delivery to another member of its group to the last such
// one, while it is connected and nothing comes to it.
type member struct {
	delivered, silent int64
	since             int64 // the first delivery to another one behind its own last; 0: none
	node              int16
	on                bool // it is connected
}

func newMembers(l *ledger) *members {
	c := &members{ledger: l, of: make([]member, len(l.tables.Processes))}
	for p := range c.of {
		c.of[p].node = history.None
	}
	return c
}

func (c *members) add(b *history.Batch) {
	if len(c.ledger.route.groups) == 0 {
		return
	}
	for i, kind := range b.Kind[:b.N] { // in their order: who is connected says who waits
		p := b.Process[i]
		if uint32(p) >= uint32(len(c.of)) {
			continue
		}
		m := &c.of[p]
		switch kind {
		case history.KindDeliver:
			c.delivered(p, b.Stream[i], b.Time[i])
		case history.KindConnect:
			if b.Edge[i] == history.Return && b.Outcome[i] == history.OK {
				m.node, m.on, m.since = b.Node[i], true, 0
			}
		case history.KindDisconnect, history.KindPause:
			m.on, m.since = false, 0
		case history.KindResume:
			m.on, m.since = m.node != history.None, 0
		}
	}
}

func (c *members) delivered(p, stream int32, now int64) {
	g := c.ledger.route.get(p, stream).group
	if g < 0 {
		return
	}
	for _, other := range c.ledger.route.groups[g].members {
		switch m := &c.of[other]; {
		case other == p:
			m.delivered++
			m.since = 0
		case m.on && m.since == 0:
			m.since = now
		case m.on:
			m.silent = max(m.silent, now-m.since)
		}
	}
}

// result lists the members of each group that ever tried to connect. One that never got
// a connection has no node.
func (c *members) result() (list []verdict.Member) {
	for g, group := range c.ledger.route.groups {
		for _, p := range c.ledger.members(int32(g)) {
			m := c.of[p]
			row := verdict.Member{Group: group.filter, Name: c.ledger.tables.Processes[p].Name, Delivered: m.delivered, SilentS: float64(m.silent) / 1e9}
			if m.node != history.None {
				row.Node = c.ledger.node(m.node)
			}
			list = append(list, row)
		}
	}
	return list
}
