package checker

import (
	"maps"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSDKPubcomp = Entry{
	Claim: verdict.Claim{Name: "sdk-pubcomp", Severity: verdict.P1, Of: verdict.SDK, Wire: true,
		Text:   "The receiver MUST respond to a PUBREL packet by sending a PUBCOMP packet containing the same Packet Identifier as the PUBREL.",
		Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-2]; MQTT 5.0 section 4.3.3 [MQTT-4.3.3-11]"},
	Category: Liveness, Checker: "pubcomp@2", Protocols: mqtt, New: newPubcomps, canary: refusePubrel,
}

// refusedPubrels is how many connections a client ends on a PUBREL before it is accused: once it may
// have left between PUBREL and PUBCOMP.
const refusedPubrels = 3

// pubcomps judges that a client answers PUBREL by PUBCOMP, for unknown packet ids too. A client that
// ends its connection instead is sent the PUBREL again on the next one, and connects for ever. The
// client may have another reason to end a connection after any other packet, and before CONNACK. Such
// connections do not count.
type pubcomps struct {
	ledger *ledger
	of     []completing // by process
	judged int64
	found  findings
}

// A completing is a client's PUBRELs without an answer.
type completing struct {
	conn int32 // the last one with a CONNACK
	last bool  // the last packet to the client there was a PUBREL
	open map[int64]releasing
}

// A releasing is a PUBREL without an answer.
type releasing struct {
	conn int32 // of the last copy
	row  int64
	n    int // connections that the client ended on it
}

func newPubcomps(ctx Context) Checker {
	return &pubcomps{ledger: ctx.ledger, of: make([]completing, len(ctx.Tables.Processes))}
}

func (c *pubcomps) fork() Checker {
	f := *c
	f.found = c.found.fork()
	f.of = forks(c.of, func(r completing) completing {
		r.open = maps.Clone(r.open)
		return r
	})
	return &f
}

func (c *pubcomps) Add(b *history.Batch) {
	packets := c.ledger.rows(b).packets
	for i := range packets {
		p := &packets[i]
		if uint32(p.process) >= uint32(len(c.of)) {
			continue
		}
		r := &c.of[p.process]
		switch p.kind {
		case connackPacket, pubrelPacket, pubcompPacket, disconnectPacket, closedPacket:
		default: // most packets
			if !p.toClient || !r.last {
				continue
			}
		}
		if c.ledger.canJudge(verdict.SDK, p) {
			c.take(p, r)
		}
	}
}

func (c *pubcomps) settled() bool { return c.found.total > 0 }

func (c *pubcomps) take(p *packet, r *completing) {
	switch {
	case p.kind == closedPacket:
		if first := !p.toClient && p.reason == 0; first && p.conn == r.conn && r.last && !c.ledger.disturbed(p.time, p.time) {
			c.ended(p, r.open)
		}
	case p.accepted():
		if !p.flags.Has(history.FlagSessionPresent) {
			clear(r.open)
		}
		r.conn, r.last = p.conn, false
	case p.conn != r.conn:
	case p.kind == pubrelPacket && p.toClient && p.id > 0:
		if r.open == nil {
			r.open = map[int64]releasing{}
		}
		r.open[p.id], r.last = releasing{p.conn, p.row, r.open[p.id].n}, true
	case p.toClient:
		r.last = false
	case p.kind == pubcompPacket:
		c.judged++
		delete(r.open, p.id)
	case p.kind == disconnectPacket && !p.refused(): // it leaves in order
		r.last = false
	}
}

// ended takes the end of a connection by its client.
func (c *pubcomps) ended(p *packet, open map[int64]releasing) {
	for _, id := range slices.Sorted(maps.Keys(open)) {
		r := open[id]
		if r.conn != p.conn {
			continue
		}
		if r.n++; r.n < refusedPubrels {
			open[id] = r
			continue
		}
		delete(open, id)
		c.judged++
		c.found.add(verdict.Anomaly{
			Kind: "uncompleted", Process: p.process, Stream: history.None, Seq: history.None, TimeNS: p.time, Events: events(r.row, p.row), Blame: verdict.SDK,
			Text: sentence("the wire shows that %s ended %d connections on PUBREL with packet id %d, and sent no PUBCOMP; the last at %s", c.ledger.process(p.process), r.n, id, clock(p.time)),
		})
	}
}

func (c *pubcomps) Result(*closing) verdict.Result {
	r := c.found.judged(c.judged, map[string]int64{"judged": c.judged, "uncompleted": c.found.total}, "no client answered a PUBREL, or ended three connections on one")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("clients answered %d PUBRELs by PUBCOMP", c.judged)
	case verdict.Fail:
		r.Summary = summary("%d of %d PUBRELs ended the connections of their client, the first: %s", c.found.total, c.judged, r.Anomalies[0].Text)
	}
	return r
}

// refusePubrel has a client end connections on a PUBREL.
func refusePubrel(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "no client was sent a PUBREL, without a fault"}
	var last packet
	m.apply = func(b *history.Batch) *history.Batch {
		packets := l.rows(b).packets
		for i := range packets {
			if p := &packets[i]; last.kind == otherPacket && p.kind == pubrelPacket && p.toClient && p.id > 0 && l.canJudge(verdict.SDK, p) && !l.disturbed(p.time, p.time) {
				last = *p
			}
		}
		return b
	}
	m.end = func() (events []history.Event) {
		if last.kind == otherPacket {
			return nil
		}
		m.did = sentence("had %s end %d connections on PUBREL", l.process(last.process), refusedPubrels)
		for n := range int32(refusedPubrels) {
			for _, e := range []history.Event{
				{Text: history.PacketConnack, ID: history.None, Flags: history.FlagToClient | history.FlagSessionPresent},
				{Text: history.PacketPubrel, ID: last.id, Flags: history.FlagToClient},
				{Text: history.PacketClosed, ID: history.None},
			} {
				e.Index, e.Call, e.Time, e.Kind, e.Via = last.row, history.None, time.Duration(last.time), history.KindPacket, history.ViaTap
				e.Process, e.Conn, e.Node, e.Stream, e.Seq = last.process, 1<<20+n, history.None, history.None, history.None
				events = append(events, e)
			}
		}
		return events
	}
	return m
}
