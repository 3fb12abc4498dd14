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
		Text:   "When a Client reconnects with CleanSession set to 0, both the Client and Server MUST re-send any unacknowledged PUBLISH Packets and PUBREL Packets using their original Packet Identifiers.",
		Source: "MQTT 3.1.1 section 4.4 [MQTT-4.4.0-1]; MQTT 5.0 section 4.4 [MQTT-4.4.0-1]"},
	Category: Durability, Checker: "pubrel@1", Protocols: mqtt, New: newPubrels, NeedsComplete: true, Timed: true, canary: forgetPubrel,
}

// pubrels judges that a broker continues an exchange of QoS 2 when its client comes back. PUBREL, or
// the message again, follows a PUBREC of an earlier connection. It judges clients whose last
// connection lasted for long enough without a fault. Libraries that hand a message to the
// application on PUBLISH do not notice. Libraries that wait for PUBREL never hand it over.
type pubrels struct {
	ledger *ledger
	bound  int64        // nanoseconds that a broker may take
	excuse string       // why the broker may have lost what it had of its exchanges; "" for none
	of     []resumption // by process
	judged int64        // exchanges continued on a later connection
}

// pubrelBound is the least that a broker may take, and as long as the scenario allows for
// recovery. MQTT has no bound. Most brokers send PUBREL as soon as the client is back; nats-server
// does by default after 30 s. The drain of a run waits for it.
const pubrelBound = int64(40 * time.Second)

// A resumption is the last connection of a client, and the PUBRECs of its session that wait for
// PUBREL.
type resumption struct {
	conn  int32
	row   int64 // of its CONNACK
	since int64 // time of its CONNACK
	begun int32 // the connection with which the session began
	clean bool  // the last CONNECT asked for a new session
	waits map[handed]packet
}

func newPubrels(ctx Context) Checker {
	c := &pubrels{ledger: ctx.ledger, bound: max(pubrelBound, stallBound(ctx.Run.Budget)), of: make([]resumption, len(ctx.Tables.Processes))}
	run := Circumstances{Nodes: ctx.Run.Cluster.Nodes}
	for _, l := range ctx.Landings {
		run.Faults = append(run.Faults, history.PlannedFault{Type: l.Type, Target: l.Target})
	}
	c.excuse = oneCopy(run)
	return c
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
		p := &packets[i]
		if uint32(p.process) >= uint32(len(c.of)) {
			continue
		}
		if r := &c.of[p.process]; len(r.waits) > 0 || p.kind == pubrecPacket || p.kind == connectPacket || p.kind == connackPacket {
			c.take(p, r)
		}
	}
}

func (c *pubrels) take(p *packet, r *resumption) {
	message := handed{p.process, p.stream, p.seq}
	switch {
	case p.kind == connectPacket:
		r.clean = p.reason != 0
	case p.accepted() && p.conn >= r.conn:
		if r.clean || !p.flags.Has(history.FlagSessionPresent) {
			r.begun = p.conn
			clear(r.waits)
		}
		r.conn, r.row, r.since = p.conn, p.row, p.time
	case p.stream < 0 || p.sender() != 1 || p.conn < r.begun:
	case p.kind == pubrecPacket && !p.refused():
		if c.open(p) {
			if r.waits == nil {
				r.waits = map[handed]packet{}
			}
			r.waits[message] = *p
		}
	case p.kind == publishPacket, p.kind == pubrelPacket:
		if before, waits := r.waits[message]; waits && before.conn < p.conn {
			c.judged++
		}
		delete(r.waits, message)
	case p.kind == pubrecPacket, p.kind == pubcompPacket:
		delete(r.waits, message)
	}
}

// open reports whether a PUBREC begins to wait. One behind its PUBREL does not. Nor does one with a
// PUBREL on the same connection that is known already, as the ledger is ahead: that is most of them.
func (c *pubrels) open(p *packet) bool {
	f := c.ledger.wire.to(p.process, p.stream, p.seq)
	return f == nil || f.freed < 0 || int64(f.freed) > p.row && f.conn != p.conn
}

func (c *pubrels) Result(*closing) verdict.Result {
	if c.excuse != "" {
		return unjudged(c.excuse)
	}
	var found findings
	l, unseen := c.ledger, int64(0)
	for process := range c.of {
		r := &c.of[process]
		stayed := l.stayed(int32(process), r)
		for _, p := range slices.SortedFunc(maps.Values(r.waits), func(a, b packet) int { return cmp.Compare(a.row, b.row) }) {
			if p.conn >= r.conn {
				continue
			}
			if stayed < c.bound || l.mayLack(&p, r.since) {
				unseen++
				continue
			}
			fault := l.fault(p.time)
			found.add(verdict.Anomaly{
				Kind: "unreleased", Process: p.process, Stream: p.stream, Seq: p.seq, TimeNS: p.time, Fault: fault, Events: events(p.row, r.row), Blame: verdict.Broker,
				Text: sentence("the wire shows that the broker sent neither %s nor its PUBREL in the %s after %s came back at %s; the client had answered it by PUBREC at %s%s",
					l.message(p.stream, p.seq), clock(stayed), l.process(p.process), clock(r.since), clock(p.time), under(fault)),
			})
		}
	}
	r := found.judged(c.judged+found.total, map[string]int64{"resumed": c.judged + found.total, "unreleased": found.total, "not_seen": unseen},
		"no client came back with a message of QoS 2 that it had answered by PUBREC, and stayed")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("the broker continued %d exchanges of QoS 2 that waited for PUBREL when their client came back", c.judged)
		if unseen > 0 {
			r.Summary += summary("; %d more could not be judged", unseen)
		}
	case verdict.Fail:
		r.Summary = summary("%d of %d messages of QoS 2 were not released after their client came back, the first: %s", found.total, r.Judged, r.Anomalies[0].Text)
	}
	return r
}

// stayed returns for how long a client was there after its last CONNACK, without a fault. The end
// is that of the connection: a library may not notice it. Clients whose packets are not all
// recorded were not there.
func (l *ledger) stayed(process int32, r *resumption) int64 {
	until := l.sessions.of[process].until()
	if r.since == 0 || until == never || !l.wire.heard(process) {
		return 0
	}
	if g := l.wire.clients[process].greetedOn(r.conn); g != nil && g.closed > 0 {
		until = min(until, g.closed)
	}
	return l.calm(process, r.since, until)
}

// mayLack reports whether a broker may be right, or unable, to send nothing more of a message that
// was answered by PUBREC: it may have forgotten it with its node, or let it expire; it may wait for
// an answer of the client; it may have given a message of a shared subscription to another member.
// Nor can it be told which message the PUBREC was about if two had its packet id.
func (l *ledger) mayLack(p *packet, back int64) bool {
	return l.mayForget(p.stream, p.seq, back) || l.aged(p.process, l.calledAt(p.stream, p.seq)) != none ||
		l.wire.mute(p.process) || l.route.get(p.process, p.stream).shared > 0 || l.wire.shared(p.process, p.stream, p.seq)
}

// forgetPubrel has a client answer a message of its last connection on the one before.
func forgetPubrel(ctx Context) *mutation {
	l := ctx.ledger
	bound := newPubrels(ctx).(*pubrels).bound
	m := &mutation{idle: "no client of QoS 2 came back to its session and stayed"}
	m.end = func() []history.Event {
		for i := range l.wire.handed {
			p := packet{process: int32(i / l.route.streams), stream: int32(i % l.route.streams), seq: history.None}
			r := l.wire.clients[p.process].resumed()
			if r.conn <= r.begun || l.stayed(p.process, &r) < bound {
				continue
			}
			l.wire.handed[i].each(func(seq int64, f *flow) {
				if p.seq < 0 && f.qos == 2 && f.taken >= 0 && f.freed >= 0 && f.conn == r.conn && !f.shared {
					p.seq, p.row = seq, int64(f.taken)
				}
			})
			if p.seq < 0 || l.mayLack(&p, r.since) {
				continue
			}
			m.did = sentence("had %s answer %s by PUBREC on the connection before its last", l.process(p.process), l.message(p.stream, p.seq))
			return []history.Event{{
				Index: p.row, Call: history.None, Time: time.Duration(r.since), Process: p.process, Conn: r.conn - 1, Kind: history.KindPacket, Via: history.ViaTap,
				Text: history.PacketPubrec, Node: history.None, Stream: p.stream, Seq: p.seq, ID: history.None,
			}}
		}
		return nil
	}
	return m
}

// resumed returns the last connection of the client.
func (c *wireClient) resumed() (r resumption) {
	for _, g := range c.greeted {
		if r.conn, r.row, r.since = g.conn, g.row, g.at; g.clean || !g.present {
			r.begun = g.conn
		}
	}
	return r
}
