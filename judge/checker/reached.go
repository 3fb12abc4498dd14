package checker

import (
	"slices"
	"sort"

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

// Situations are all that a run counts. A message counts once for each connection that its client
// replaced by another.
var Situations = [...]Situation{
	publishedBeforeAnswer: {"published_before_answer", "messages whose publisher reconnected before their PUBACK or PUBREC",
		[]string{"qos1-no-loss", "qos2-exactly-once", "sdk-resend-dup", "sdk-honest"}, true},
	publishedBeforePubrel: {"published_between_pubrec_and_pubrel", "messages whose publisher reconnected between PUBREC and PUBREL",
		[]string{"qos2-exactly-once", "qos2-no-loss", "sdk-qos2-flow"}, true},
	publishedBeforePubcomp: {"published_between_pubrel_and_pubcomp", "messages whose publisher reconnected between PUBREL and PUBCOMP",
		[]string{"qos2-exactly-once", "broker-qos2-flow", "sdk-qos2-flow"}, true},
	deliveredBeforeAnswer: {"delivered_before_answer", "deliveries whose subscriber reconnected before it answered by PUBACK or PUBREC",
		[]string{"qos1-no-loss", "qos2-no-loss", "broker-resend-dup", "broker-resend-id", "session-kept"}, true},
	deliveredBeforePubrel: {"delivered_between_pubrec_and_pubrel", "deliveries whose subscriber reconnected between PUBREC and PUBREL",
		[]string{"qos2-exactly-once", "broker-pubrel", "broker-qos2-flow"}, true},
	deliveredBeforePubcomp: {"delivered_between_pubrel_and_pubcomp", "deliveries whose subscriber reconnected between PUBREL and PUBCOMP",
		[]string{"qos2-exactly-once", "broker-qos2-flow", "sdk-once"}, true},
	takenOver: {"taken_over", "connections that their client replaced by another before they had ended",
		[]string{"session-kept", "qos2-exactly-once", "broker-resend-dup"}, true},
	ackedBeforeKill: {"acknowledged_before_kill", "messages acknowledged in the tenth of a second before a fault killed a node",
		[]string{"qos1-no-loss", "qos2-no-loss", "qos2-exactly-once", "retained-register"}, false},
	deliveredFromQueue: {"delivered_from_queue", "deliveries of messages published while their subscriber was away",
		[]string{"qos1-no-loss", "qos2-no-loss", "session-kept", "order-per-stream"}, false},
	sessionsResumed: {"sessions_resumed", "connections to a session that the broker had kept",
		[]string{"session-kept", "session-fresh", "session-expiry"}, false},
	readsDuringWrites: {"reads_during_writes", "reads of a retained message during a write of it",
		[]string{"retained-register"}, false},
	willsDue: {"wills_due", "connections with a will that ended without DISCONNECT",
		[]string{"will-once"}, false},
}

// The places in [Situations]. Messages in flight come first, in the order of an exchange's states.
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
	acks   timeline               // of QoS 1 and 2
	topics map[string][]int32     // streams of each register
	open   map[int64]registerRead // reads under way, by row
	reads  []registerRead
}

// A registerRead is a read of a retained message, in a time.
type registerRead struct {
	topic    string
	from, to int64
}

// A flight counts the messages in flight of one client, in the order of [Situations].
type flight [takenOver]int64

// newReached returns nil for a run that counts none.
func newReached(l *ledger, run *history.Run) *reached {
	if len(run.Reaches) == 0 {
		return nil
	}
	c := &reached{ledger: l, asked: run.Reaches, topics: map[string][]int32{}, open: map[int64]registerRead{}}
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
	for _, i := range rows.published {
		if s := b.Stream[i]; c.ledger.works(s) && c.ledger.tables.Streams[s].QoS > 0 && acknowledged(b, int(i)) {
			c.acks.add(b.Time[i], b.Index[i])
		}
	}
	for _, d := range rows.delivered {
		if d.pair >= 0 && !d.flags.Has(history.FlagRetain) && c.queued(b, d) {
			c.n[deliveredFromQueue]++
		}
	}
	for _, i := range rows.control {
		switch b.Kind[i] {
		case history.KindConnect:
			if acknowledged(b, int(i)) && b.Flags[i].Has(history.FlagSessionPresent) && !c.ledger.route.probed(b.Process[i]) {
				c.n[sessionsResumed]++
			}
		case history.KindFetch:
			c.fetch(b, int(i))
		}
	}
}

// queued reports whether a message was published while its subscriber was away.
func (c *reached) queued(b *history.Batch, d delivery) bool {
	s := b.Stream[d.i]
	of := &c.ledger.sessions.of[b.Process[d.i]]
	if len(of.connects) < 2 || !c.ledger.works(s) || c.ledger.tables.Streams[s].Will {
		return false
	}
	called := c.ledger.calledAt(s, d.seq)
	return called > of.connects[0] && of.away(called, called+1) == called
}

func (c *reached) fetch(b *history.Batch, i int) {
	if b.Edge[i] == history.Call {
		c.open[b.Index[i]] = registerRead{topic: c.ledger.fetched(b, i), from: b.Time[i]}
		return
	}
	if r, known := c.open[b.Call[i]]; known && len(c.topics[r.topic]) > 0 && acknowledged(b, i) {
		r.to = b.Time[i]
		c.reads = append(c.reads, r)
	}
	delete(c.open, b.Call[i])
}

// written reports whether a write of its topic was under way during a read. A stream has one write at
// a time. A write without an answer may never have been.
func (c *reached) written(r registerRead) bool {
	return slices.ContainsFunc(c.topics[r.topic], func(s int32) bool {
		writes := &c.ledger.sends.streams[s].messages
		for n := sort.Search(int(writes.n), func(n int) bool { return writes.at(int64(n)).called >= r.to }); n > 0; n-- {
			if m := writes.at(int64(n - 1)); m.ret != 0 {
				return m.acked > r.from
			}
		}
		return false
	})
}

// connection counts the messages that a client had in flight when it sent CONNECT again, once it is let
// in.
func (c *reached) connection(t *talker, p *packet) {
	switch {
	case p.conn <= t.conn:
	case p.kind == connectPacket:
		t.flight = c.inFlight(t)
	case p.accepted():
		for i, n := range t.flight {
			c.n[i] += n
		}
		t.flight = flight{}
	}
}

func (c *reached) inFlight(t *talker) (n flight) {
	for side, first := range [2]int{publishedBeforeAnswer, deliveredBeforeAnswer} {
		t.open[side].each(func(e *exchange) {
			if e.conn == t.conn && e.session == t.session && e.state != done && e.stream >= 0 && c.ledger.works(e.stream) {
				n[first+int(e.state)]++
			}
		})
	}
	return n
}

// result returns the counts of the situations that the run counts, by name. Without packets, or if
// reading them broke, some cannot be counted.
func (c *reached) result(packets bool) map[string]int64 {
	if c == nil {
		return nil
	}
	c.end()
	counts := map[string]int64{}
	for i, s := range Situations {
		if _, asked := c.asked[s.Name]; asked && (packets || !s.Wire) {
			counts[s.Name] = c.n[i]
		}
	}
	return counts
}

// end counts what only the whole record shows.
func (c *reached) end() {
	last := int64(0)
	for _, at := range slices.Sorted(slices.Values(c.ledger.kills.at)) {
		to := at + bucket // that of the kill, too
		c.n[ackedBeforeKill] += c.acks.between(max(at-beforeKill, last), to)
		last = to
	}
	for _, r := range c.reads {
		if c.written(r) {
			c.n[readsDuringWrites]++
		}
	}
	for i := range c.ledger.wills.all {
		if q := &c.ledger.wills.all[i]; q.accepted && !q.left && q.leave != history.None {
			c.n[willsDue]++
		}
	}
	for p := range c.ledger.wire.clients {
		greeted := c.ledger.wire.clients[p].greeted
		for i := 1; i < len(greeted) && !c.ledger.route.probed(int32(p)); i++ {
			if before, next := &greeted[i-1], &greeted[i]; before.conn < next.conn && before.closed > next.begun {
				c.n[takenOver]++
			}
		}
	}
}
