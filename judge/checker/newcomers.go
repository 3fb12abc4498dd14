package checker

import "github.com/robustmq/rmq-mcp/history"

// longAgo is how old, in nanoseconds, an acknowledged message must be to be none of a session
// that subscribes. A cluster may route a message after it acknowledged it: whoever subscribes
// meanwhile at another node may get it.
const longAgo = int64(30e9)

// newcomers follows, by the wire, when each client first subscribed in its session. A
// session has nothing from before, except as a retained message (MQTT 3.1.1 sections
// 3.1.2.4 [MQTT-3.1.2-6] and 4.1 [MQTT-4.1.0-2]).
type newcomers struct {
	ledger *ledger
	of     []newcomer // by process
}

// A newcomer is one client in its session.
type newcomer struct {
	conn  int32
	clean bool  // its last CONNECT wants to begin anew
	bare  bool  // its session has no subscription yet
	since int64 // time of the first SUBSCRIBE in its session; 0 where it is not known
}

func newNewcomers(l *ledger) *newcomers {
	return &newcomers{l, make([]newcomer, len(l.tables.Processes))}
}

// take returns the time of the first SUBSCRIBE of a client if a packet is a PUBLISH to it
// of a message acknowledged long before; else 0.
func (c *newcomers) take(p *packet) (since int64) {
	if uint32(p.process) >= uint32(len(c.of)) {
		return 0
	}
	n := &c.of[p.process]
	switch {
	case p.conn < n.conn: // written down late
	case p.kind == connectPacket:
		n.clean = p.reason != 0
	case p.accepted():
		n.conn = p.conn
		if n.clean || !p.flags.Has(history.FlagSessionPresent) {
			n.bare, n.since = true, 0
		}
	case p.kind == subscribePacket && n.bare:
		n.bare, n.since = false, p.time
	case p.kind == publishPacket && p.toClient && n.since > 0 && !p.flags.Has(history.FlagRetain):
		if m := c.ledger.sends.find(p.stream, p.seq); m != nil && m.outcome == history.OK && m.acked+longAgo < n.since {
			return n.since
		}
	}
	return 0
}

// early reports whether a message that was sent to a process was certainly over when the
// process subscribed: it was published once, to a topic without retained messages, and
// acknowledged on the wire, and neither a fault nor a host that stood still kept it.
func (l *ledger) early(process, stream int32, seq, since int64) bool {
	row, pair, m, from := l.tables.Streams[stream], l.route.get(process, stream), l.sends.find(stream, seq), l.wire.from(stream, seq)
	return row.QoS > 0 && !row.Retain && !row.Register && !ephemeral(row) && pair.filters > 0 && pair.shared == 0 &&
		from != nil && from.n == 1 && from.acked >= 0 && int64(from.acked) < m.ret.index() && !l.hasty(m.acked, since) && l.still(m.acked, since) < 0
}
