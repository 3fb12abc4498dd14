package checker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimBrokerPubrel = Entry{
	Claim: verdict.Claim{Name: "broker-pubrel", Severity: verdict.P1, Wire: true,
		Text:   "When a Client reconnects with CleanSession set to 0, both the Client and Server MUST re-send any unacknowledged PUBLISH Packets (where QoS > 0) and PUBREL Packets using their original Packet Identifiers.",
		Source: "MQTT 3.1.1 section 4.4 [MQTT-4.4.0-1]; MQTT 5.0 section 4.4 [MQTT-4.4.0-1]"},
	Category: Durability, Checker: "pubrel@1", Protocols: mqtt, New: newPubrels, NeedsComplete: true, Timed: true, canary: forgetPubrel,
}

// pubrels judges that a broker goes on with an exchange of QoS 2 when its client comes back: a
// message that the client answered by PUBREC on an earlier connection is followed by PUBREL, or
// sent again. It judges clients whose last connection lasted for [pubrelBound] without a fault.
// A library that hands a message to the application on PUBLISH does not notice the difference; a
// library that waits for PUBREL never hands it over.
type pubrels struct {
	ledger *ledger
	of     []resumption // by process
	judged int64        // exchanges that a broker went on with on a later connection
}

// pubrelBound is how long a broker may take. MQTT has no bound. Most brokers send PUBREL as soon as
// the client is back; nats-server does by default after 30 s. The drain of a run waits for it.
const pubrelBound = int64(40 * time.Second)

// A resumption is the last connection of a client, and the messages that wait for PUBREL.
type resumption struct {
	conn  int32
	since int64 // time of CONNACK
	clean bool  // its last CONNECT wants to begin anew, whatever CONNACK says
	waits map[handed]packet
}

func newPubrels(ctx Context) Checker {
	return &pubrels{ledger: ctx.ledger, of: make([]resumption, len(ctx.Tables.Processes))}
}

func (c *pubrels) fork() Checker {
	f := *c
	f.of = forks(c.of, func(r resumption) resumption {
		r.waits = maps.Clone(r.waits)
		return r
	})
	return &f
}

func (c *pubrels) Add(b *history.Batch) {
	packets := c.ledger.rows(b).packets
	for i := range packets {
		if p := &packets[i]; uint32(p.process) < uint32(len(c.of)) {
			c.take(p, &c.of[p.process])
		}
	}
}

func (c *pubrels) take(p *packet, r *resumption) {
	message := handed{p.process, p.stream, p.seq}
	switch {
	case p.kind == connectPacket:
		r.clean = p.reason != 0
	case p.accepted():
		if r.clean || !p.flags.Has(history.FlagSessionPresent) {
			clear(r.waits)
		}
		if p.conn >= r.conn {
			r.conn, r.since = p.conn, p.time
		}
	case p.stream < 0 || p.sender() != 1:
	case p.kind == pubrecPacket && !p.refused():
		if r.waits == nil {
			r.waits = map[handed]packet{}
		}
		r.waits[message] = *p
	case p.kind == pubrecPacket, p.kind == pubcompPacket:
		delete(r.waits, message)
	case p.kind == publishPacket, p.kind == pubrelPacket:
		if at, waits := r.waits[message]; waits {
			delete(r.waits, message)
			if at.conn < p.conn {
				c.judged++
			}
		}
	}
}

func (c *pubrels) Result(*closing) verdict.Result {
	var found findings
	l := c.ledger
	for process := range c.of {
		r := &c.of[process]
		if !l.resumed(int32(process), r.since) {
			continue
		}
		for _, p := range slices.SortedFunc(maps.Values(r.waits), func(a, b packet) int { return cmp.Compare(a.row, b.row) }) {
			if p.conn >= r.conn || l.wire.shared(p.process, p.stream, p.seq) {
				continue
			}
			fault := l.fault(p.time)
			found.add(verdict.Anomaly{
				Kind: "unreleased", Process: p.process, Stream: p.stream, Seq: p.seq, TimeNS: p.time, Fault: fault, Events: events(p.row), Blame: verdict.Broker,
				Expected: l.kills.took(p.time, r.since),
				Text: sentence("the wire shows that %s answered %s by PUBREC at %s, and that the broker sent neither PUBREL nor the message after the session was resumed at %s%s",
					l.process(p.process), l.message(p.stream, p.seq), clock(p.time), clock(r.since), under(fault)),
			})
		}
	}
	r := found.judged(c.judged+found.total, map[string]int64{"resumed": c.judged + found.total, "unreleased": found.total},
		"no client with an answered message of QoS 2 came back to its session and stayed")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("the broker went on with all of %d messages of QoS 2 that clients had answered by PUBREC when they came back", c.judged)
	case verdict.Fail:
		r.Summary = summary("%d of %d messages of QoS 2 were never released after their client came back, the first: %s", found.total, r.Judged, r.Anomalies[0].Text)
	}
	return r
}

// resumed reports whether a process has stayed connected since a CONNACK for long enough, without
// a fault, and all its packets were recorded.
func (l *ledger) resumed(process int32, since int64) bool {
	s := &l.sessions.of[process]
	until := s.left
	if s.connected {
		until = max(s.ended, s.last)
	}
	return since > 0 && until != never && l.wire.heard(process) && l.calm(process, since, until) >= pubrelBound
}

// forgetPubrel has a client answer a message by PUBREC on the connection before its last.
func forgetPubrel(ctx Context) *mutation {
	l := ctx.ledger
	c := newPubrels(ctx).(*pubrels)
	last := make([]packet, len(c.of)) // by process: the last PUBREC
	m := &mutation{idle: "no client with an answered message of QoS 2 came back to its session and stayed"}
	m.apply = func(b *history.Batch) *history.Batch {
		packets := l.rows(b).packets
		for i := range packets {
			p := &packets[i]
			if uint32(p.process) >= uint32(len(c.of)) {
				continue
			}
			c.take(p, &c.of[p.process])
			if p.kind == pubrecPacket && p.sender() == 1 && p.stream >= 0 && !p.refused() {
				last[p.process] = *p
			}
		}
		return b
	}
	m.end = func() []history.Event {
		for process, p := range last {
			r := &c.of[process]
			if p.row == 0 || r.conn == 0 || !l.resumed(int32(process), r.since) || l.wire.shared(p.process, p.stream, p.seq) {
				continue
			}
			m.did = sentence("had %s answer %s by PUBREC on the connection before its last", l.process(p.process), l.message(p.stream, p.seq))
			return []history.Event{{
				Index: p.row, Call: history.None, Time: time.Duration(r.since), Process: p.process, Conn: r.conn - 1, Kind: history.KindPacket, Via: history.ViaTap,
				Text: history.PacketPubrec, Node: history.None, Stream: p.stream, Seq: p.seq, ID: p.id,
			}}
		}
		return nil
	}
	return m
}
