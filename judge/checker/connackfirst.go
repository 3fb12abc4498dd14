package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimBrokerConnackFirst = Entry{
	Claim: verdict.Claim{Name: "broker-connack-first", Severity: verdict.P1, Wire: true,
		Text:   "The first packet sent from the Server to the Client MUST be a CONNACK Packet.",
		Source: "MQTT 3.1.1 section 3.2 [MQTT-3.2.0-1]; MQTT 5.0 section 3.2 [MQTT-3.2.0-1]: any packet other than AUTH"},
	Category: Safety, Checker: "connackfirst@2", Protocols: mqtt, New: newConnackFirst, canary: publishFirst,
}

// connackFirst judges that a broker says nothing on a connection before CONNACK. A packet
// is not judged if a fault that withholds packets was in place since CONNECT: it may have
// taken CONNACK. Nor is DISCONNECT, by which a broker may refuse.
type connackFirst struct {
	ledger   *ledger
	of       []opening // by process
	withheld []history.Window
	judged   int64
	found    findings
}

// An opening is a client's last CONNECT.
type opening struct {
	conn      int32
	row, time int64
	waits     bool // for the first packet of the broker
}

func newConnackFirst(ctx Context) Checker {
	return &connackFirst{ledger: ctx.ledger, of: make([]opening, len(ctx.Tables.Processes)), withheld: withheld(ctx)}
}

// withheld returns the times in which the tap may have withheld packets.
func withheld(ctx Context) []history.Window {
	return history.Windows(slices.DeleteFunc(slices.Clone(ctx.Landings), func(l history.Landing) bool { return !slices.Contains(withholding, l.Type) }))
}

func (c *connackFirst) fork() Checker {
	f := *c
	f.of, f.found = slices.Clone(c.of), c.found.fork()
	return &f
}

func (c *connackFirst) settled() bool { return c.found.total > 0 }

func (c *connackFirst) Add(b *history.Batch) {
	packets := c.ledger.rows(b).packets
	for i := range packets {
		p := &packets[i]
		if uint32(p.process) >= uint32(len(c.of)) {
			continue
		}
		switch g := &c.of[p.process]; {
		case p.kind == connectPacket:
			*g = opening{p.conn, p.row, p.time, true}
		case !g.waits || !p.toClient || p.conn != g.conn:
		case p.kind == connackPacket:
			g.waits = false
			c.judged++
		case p.kind == disconnectPacket || p.kind == closedPacket || p.kind == unreadPacket: // it ends
			g.waits = false
		default:
			g.waits = false
			c.early(p, g)
		}
	}
}

// early judges a packet that came before CONNACK.
func (c *connackFirst) early(p *packet, g *opening) {
	l := c.ledger
	if overlap(c.withheld, g.time, p.time) {
		return
	}
	c.judged++
	what, fault := "a "+p.kind.String(), l.fault(p.time)
	if p.kind == publishPacket && p.stream >= 0 && p.seq >= 0 {
		what = l.message(p.stream, p.seq)
	}
	c.found.add(verdict.Anomaly{
		Kind: "before-connack", Process: p.process, Stream: p.stream, Seq: p.seq, TimeNS: p.time, Fault: fault, Events: events(g.row, p.row), Blame: verdict.Broker,
		Text: sentence("the wire shows that the broker sent %s to %s before CONNACK, at %s%s", what, l.process(p.process), clock(p.time), under(fault)),
	})
}

func (c *connackFirst) Result(*closing) verdict.Result {
	r := c.found.judged(c.judged, map[string]int64{"connections": c.judged, "before_connack": c.found.total}, "the broker answered no CONNECT")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("on each of %d connections CONNACK was the broker's first packet", c.judged)
	case verdict.Fail:
		r.Summary = summary("on %d of %d connections the broker sent another packet before CONNACK, the first: %s", c.found.total, c.judged, r.Anomalies[0].Text)
	}
	return r
}

// publishFirst has the broker send a PUBLISH behind a CONNECT.
func publishFirst(ctx Context) *mutation {
	l, times := ctx.ledger, withheld(ctx)
	return onePacket(l, "no client sent CONNECT while the tap passed everything on", func(b *history.Batch, p *packet) (*history.Batch, string) {
		if p.kind != connectPacket || overlap(times, p.time, p.time) {
			return nil, ""
		}
		e := b.Event(p.i)
		e.Text, e.Flags, e.Reason = history.PacketPublish, history.FlagToClient, 0
		return with(b, p.i, e), "had the broker send a PUBLISH to " + l.process(p.process) + " before CONNACK"
	})
}
