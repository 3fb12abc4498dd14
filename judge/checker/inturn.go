package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSDKAckOrder = Entry{
	Claim: verdict.Claim{Name: "sdk-ack-order", Severity: verdict.P2, Of: verdict.SDK, Wire: true,
		Text:   "A Client MUST send PUBACK packets in the order in which the corresponding PUBLISH packets were received (QoS 1 messages), and PUBREC packets likewise (QoS 2 messages).",
		Source: "MQTT 3.1.1 section 4.6 [MQTT-4.6.0-2], [MQTT-4.6.0-3]"},
	Category: Ordering, Checker: "inturn@2", Protocols: mqtt, New: talks(inTurn), canary: disorder,
}

// inTurn is that a client answers PUBLISHes in the order in which it was sent
// them: QoS 1 by PUBACK (MQTT-4.6.0-2), QoS 2 by PUBREC (MQTT-4.6.0-3).
var inTurn = rule{
	of: verdict.SDK, side: 1, kinds: []packetKind{pubackPacket, pubrecPacket}, kind: "misordered",
	holds:  "%d PUBACKs and PUBRECs came in the order of their PUBLISHes",
	nobody: "no client answered a PUBLISH",
	look: func(l *ledger, t *talker, p *packet, open *exchange) (string, bool) {
		if open == nil || open.place == 0 || open.twice || open.conn != p.conn || open.qos > 2 || open.state != published {
			return "", false
		}
		last := &t.last[open.qos]
		if open.place < *last {
			return sentence("was answered by %s behind one that came later", p.kind), true
		}
		*last = open.place
		return "", true
	},
}

// disorder lets two answers of one client, one behind the other, change places.
func disorder(ctx Context) *mutation {
	l := ctx.ledger
	var last packet
	return onePacket(l, "no client answered two PUBLISHes of one QoS shortly after one another", func(b *history.Batch, p *packet) (*history.Batch, string) {
		if p.toClient || p.kind != pubackPacket && p.kind != pubrecPacket {
			return nil, ""
		}
		before := last
		last = *p
		// A reader fills one batch again and again: only its rows say which it is.
		if before.kind == otherPacket || before.row < b.Index[0] || before.process != p.process || before.conn != p.conn || before.kind != p.kind || before.id == p.id || !l.bothSent(&before, p) {
			return nil, ""
		}
		c := *b
		c.ID = slices.Clone(b.ID[:b.N])
		c.ID[before.i], c.ID[p.i] = p.id, before.id
		return &c, sentence("swapped the answers of %s to packet ids %d and %d", l.process(p.process), before.id, p.id)
	})
}

// bothSent reports whether both messages that are answered had been sent after CONNACK
// and before the first answer, once each: only then have the answers an order.
func (l *ledger) bothSent(first, second *packet) bool {
	greeted := l.wire.clients[first.process].greetedOn(first.conn)
	for _, p := range []*packet{first, second} {
		sent := l.wire.to(p.process, p.stream, p.seq)
		if greeted == nil || sent == nil || sent.n != 1 || sent.conn != p.conn {
			return false
		}
		if at := int64(sent.first); at < greeted.row || at > first.row {
			return false
		}
	}
	return true
}
