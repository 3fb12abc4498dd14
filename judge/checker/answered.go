package checker

import (
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimBrokerAcks = Entry{
	Claim: verdict.Claim{Name: "broker-acks", Severity: verdict.P1, Wire: true,
		Text:   "The receiver MUST respond with a PUBACK (QoS 1) or PUBREC (QoS 2) Packet containing the Packet Identifier from the incoming PUBLISH Packet.",
		Source: "MQTT 3.1.1 sections 4.3.2 [MQTT-4.3.2-2] and 4.3.3 [MQTT-4.3.3-2]"},
	Category: Safety, Checker: "answered@6", Protocols: mqtt, New: talks(answered), canary: misanswer,
}

// answered is that a broker answers with the packet id of what it was sent, and
// as its QoS asks (MQTT-4.3.2-2, MQTT-4.3.3-2). PUBCOMP answers nothing but PUBREL. That
// the broker knows no such packet is no error on the next connection alone (MQTT 5.0,
// 3.7.2.1).
var answered = rule{
	of: verdict.Broker, side: 0, kinds: []packetKind{pubackPacket, pubrecPacket, pubcompPacket}, kind: "misanswered",
	holds:  "%d answers of the broker had the packet id of a PUBLISH or PUBREL",
	nobody: "the broker answered nothing",
	look: func(l *ledger, t *talker, p *packet, open *exchange) (string, bool) {
		if p.id < 0 {
			return "", false
		}
		mixed := open != nil && (open.shared || open.stream < 0) // the answer may be to another message with the packet id
		switch {
		case open == nil:
			return sentence("was answered by a %s of the broker, and was never used by the client", p.kind), true
		case (p.kind == pubackPacket) != (open.qos == 1) && !mixed:
			return sentence("was answered by a %s, and is of QoS %d", p.kind, open.qos), true
		case p.kind == pubcompPacket && open.state < released && !mixed:
			return "was answered by a PUBCOMP, before the client had sent PUBREL", true
		case p.kind == pubcompPacket && p.refused() && open.state == released && open.of(p) && !mixed && l.wire.acceptedOn(p):
			return sentence("was answered by a PUBCOMP with reason 0x%02x, after a PUBREC on the same connection had accepted it", p.reason), true
		}
		return "", true
	},
}

// misanswer gives one PUBACK or PUBREC of the broker a packet id that nobody
// used.
func misanswer(ctx Context) *mutation {
	l := ctx.ledger
	used := map[int64]bool{}
	return onePacket(l, "the broker answered nothing", func(b *history.Batch, p *packet) (*history.Batch, string) {
		used[p.id] = true
		if !p.toClient || p.kind != pubackPacket && p.kind != pubrecPacket {
			return nil, ""
		}
		e := b.Event(p.i)
		for e.ID = 1; used[e.ID]; e.ID++ {
		}
		e.Stream, e.Seq = history.None, history.None
		return with(b, p.i, e), sentence("had the broker answer packet id %d, which was not in use", e.ID)
	})
}
