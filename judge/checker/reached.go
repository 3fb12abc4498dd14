package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// A Situation is a moment in which a broker or a client may break claims. A run that never came
// there says nothing of them, whatever passed.
type Situation struct {
	Name   string   // for scenarios
	Text   string   // what is counted, in words that follow a number
	Claims []string // that may break there
	Wire   bool     // packets alone show it
}

// Situations are all that a run counts. A message in flight counts once for each connection that its
// client replaced by another.
var Situations = [...]Situation{
	publishedBeforeAnswer: {"published_before_answer", "messages whose publisher lost its connection before their PUBACK or PUBREC",
		[]string{"qos1-no-loss", "qos2-exactly-once", "sdk-resend-dup", "sdk-honest"}, true},
	publishedBeforePubrel: {"published_between_pubrec_and_pubrel", "messages whose publisher lost its connection between PUBREC and PUBREL",
		[]string{"qos2-exactly-once", "qos2-no-loss", "sdk-qos2-flow"}, true},
	publishedBeforePubcomp: {"published_between_pubrel_and_pubcomp", "messages whose publisher lost its connection between PUBREL and PUBCOMP",
		[]string{"qos2-exactly-once", "broker-qos2-flow", "sdk-qos2-flow"}, true},
	deliveredBeforeAnswer: {"delivered_before_answer", "deliveries whose subscriber lost its connection before it answered by PUBACK or PUBREC",
		[]string{"qos1-no-loss", "qos2-no-loss", "broker-resend-dup", "broker-resend-id", "session-kept"}, true},
	deliveredBeforePubrel: {"delivered_between_pubrec_and_pubrel", "deliveries whose subscriber lost its connection between PUBREC and PUBREL",
		[]string{"qos2-exactly-once", "broker-pubrel", "broker-qos2-flow"}, true},
	deliveredBeforePubcomp: {"delivered_between_pubrel_and_pubcomp", "deliveries whose subscriber lost its connection between PUBREL and PUBCOMP",
		[]string{"qos2-exactly-once", "broker-qos2-flow", "sdk-once"}, true},
	takenOver: {"taken_over_in_flight", "connections that were replaced with messages in flight, before they ended",
		[]string{"session-kept", "qos2-exactly-once", "broker-resend-dup"}, true},
	ackedBeforeKill: {"acknowledged_before_kill", "messages acknowledged in the tenth of a second before a fault killed a node",
		[]string{"qos1-no-loss", "qos2-no-loss", "qos2-exactly-once", "retained-register"}, false},
	deliveredFromQueue: {"delivered_from_queue", "deliveries of messages published before their subscriber was back",
		[]string{"qos1-no-loss", "qos2-no-loss", "session-kept", "order-per-stream"}, false},
	sessionsResumed: {"sessions_resumed", "connections to a session that the broker had kept",
		[]string{"session-kept", "session-fresh", "session-expiry"}, false},
	readsDuringWrites: {"reads_during_writes", "reads of retained messages beside a write of the same one",
		[]string{"retained-register"}, false},
	willsDue: {"wills_due", "connections with a will that ended without DISCONNECT",
		[]string{"will-once"}, false},
}

// The places in [Situations]. Messages in flight have three each, in the order of an exchange's states.
const (
	publishedBeforeAnswer = iota
	publishedBeforePubrel
	publishedBeforePubcomp
	deliveredBeforeAnswer
	deliveredBeforePubrel
	deliveredBeforePubcomp
	takenOver
	ackedBeforeKill
	deliveredFromQueue
	sessionsResumed
	readsDuringWrites
	willsDue
)

// Reachable returns the situations of runs with a protocol, "" for any, in which packets are recorded
// or not.
func Reachable(protocol string, wire bool) (names []string) {
	for _, s := range Situations {
		if (wire || !s.Wire) && slices.ContainsFunc(s.Claims, func(claim string) bool { return speaks(claim, protocol) }) {
			names = append(names, s.Name)
		}
	}
	return names
}

// speaks reports whether a claim is one of a protocol.
func speaks(claim, protocol string) bool {
	e, err := Find(claim)
	return err == nil && (protocol == "" || slices.Contains(e.Protocols, protocol))
}

// reachedBy returns the counts of the situations in which a claim may break.
func reachedBy(claim string, counts map[string]int64) map[string]int64 {
	var own map[string]int64
	for _, s := range Situations {
		if n, counted := counts[s.Name]; counted && slices.Contains(s.Claims, claim) {
			if own == nil {
				own = map[string]int64{}
			}
			own[s.Name] = n
		}
	}
	return own
}

// beforeKill is for how long before its end a node may not have saved what it acknowledged.
const beforeKill = int64(100e6)

// reached counts how often a run came into each situation.
type reached struct {
	ledger *ledger
	n      [len(Situations)]int64
	asked  map[string]int64       // those that the run counts
	topics map[string][]int32     // streams of each register
	reads  map[int64]registerRead // those under way, by row
}

// A registerRead is under way.
type registerRead struct {
	topic string
	from  int64
}

// newReached returns nil for a run that counts none.
func newReached(l *ledger, run *history.Run) *reached {
	if len(run.Reaches) == 0 {
		return nil
	}
	c := &reached{ledger: l, asked: run.Reaches, topics: map[string][]int32{}, reads: map[int64]registerRead{}}
	for i, s := range l.tables.Streams {
		if s.Register {
			c.topics[s.Topic] = append(c.topics[s.Topic], int32(i))
		}
	}
	return c
}

func (c *reached) add(b *history.Batch) {
	if c == nil {
		return
	}
	rows := c.ledger.rows(b)
	for _, d := range rows.delivered {
		if d.pair >= 0 && !d.flags.Has(history.FlagRetain) && c.queued(b, d) {
			c.n[deliveredFromQueue]++
		}
	}
	for _, i := range rows.control {
		i := int(i)
		switch {
		case b.Kind[i] == history.KindConnect && acknowledged(b, i) && b.Flags[i].Has(history.FlagSessionPresent) && !c.ledger.route.probed(b.Process[i]):
			c.n[sessionsResumed]++
		case b.Kind[i] == history.KindFetch && b.Edge[i] == history.Call:
			r := registerRead{b.Text(i), b.Time[i]}
			if b.Stream[i] >= 0 {
				r.topic = c.ledger.topic(b.Stream[i])
			}
			c.reads[b.Index[i]] = r
		case b.Kind[i] == history.KindFetch && b.Edge[i] == history.Return:
			if r, known := c.reads[b.Call[i]]; known && c.written(r, b.Time[i]) {
				c.n[readsDuringWrites]++
			}
			delete(c.reads, b.Call[i])
		}
	}
}

// queued reports whether a message was published while its subscriber was away.
func (c *reached) queued(b *history.Batch, d delivery) bool {
	p, s := b.Process[d.i], b.Stream[d.i]
	if of := &c.ledger.sessions.of[p]; len(of.connects) > 1 && c.ledger.works(s) {
		called := c.ledger.calledAt(s, d.seq)
		return of.connects[0] < called && called < of.at
	}
	return false
}

// written reports whether a write of its topic was under way while a read was, until a time.
func (c *reached) written(r registerRead, to int64) bool {
	for _, s := range c.topics[r.topic] {
		writes := &c.ledger.sends.streams[s].messages
		for seq := writes.n - 1; seq >= 0; seq-- {
			m := writes.at(seq)
			if m == nil || m.ret != 0 && m.acked < r.from {
				break
			}
			if m.called < to {
				return true
			}
		}
	}
	return false
}

// end counts what a client's connection left open when the client is back. The connection may end
// after that, and its end may be written down late.
func (c *reached) end(t *talker, p *packet) {
	switch {
	case p.accepted() && p.conn > t.conn:
		t.left, t.over, t.back = c.open(t) && t.closed != t.conn, t.conn, p.time
	case p.kind == closedPacket && p.conn == t.conn:
		t.closed = p.conn
	case p.kind == closedPacket && p.conn == t.over && t.left && p.time > t.back:
		c.n[takenOver]++
		t.left = false
	}
}

// open counts the messages that the connection of a client has in flight, and reports whether there are any.
func (c *reached) open(t *talker) (open bool) {
	for side, first := range [2]int{publishedBeforeAnswer, deliveredBeforeAnswer} {
		t.open[side].each(func(e *exchange) {
			if e.conn == t.conn && e.session == t.session && e.state != done && e.stream >= 0 && c.ledger.works(e.stream) {
				c.n[first+int(e.state)]++
				open = true
			}
		})
	}
	return open
}

// result returns the counts of the situations that the run counts, by name. Without packets some
// cannot be counted.
func (c *reached) result(acks *timeline) map[string]int64 {
	if c == nil {
		return nil
	}
	for _, at := range c.ledger.kills.at {
		c.n[ackedBeforeKill] += acks.between(at-beforeKill, at)
	}
	for i := range c.ledger.wills.all {
		if q := &c.ledger.wills.all[i]; q.accepted && !q.left && q.leave != history.None {
			c.n[willsDue]++
		}
	}
	counts := map[string]int64{}
	for i, s := range Situations {
		if _, asked := c.asked[s.Name]; asked && (c.ledger.wire.on || !s.Wire) {
			counts[s.Name] = c.n[i]
		}
	}
	return counts
}
