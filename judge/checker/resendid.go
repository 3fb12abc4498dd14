package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimBrokerResendID = Entry{
	Claim: verdict.Claim{Name: "broker-resend-id", Severity: verdict.P3, Wire: true,
		Text:   "When a Client reconnects with CleanSession set to 0, both the Client and Server MUST re-send any unacknowledged PUBLISH Packets and PUBREL Packets using their original Packet Identifiers.",
		Source: "MQTT 3.1.1 section 4.4 [MQTT-4.4.0-1]; MQTT 5.0 section 4.4 [MQTT-4.4.0-1]"},
	Category: Safety, Checker: "resendid@1", Protocols: mqtt, New: talks(resentAsIs()), canary: renumber,
}

// resentAsIs is that a PUBLISH without an answer has its packet id again when the session is
// resumed. With DUP another packet id is no violation here: the client can tell that the message
// came before.
func resentAsIs() rule {
	return rule{
		of: verdict.Broker, side: 1, kinds: []packetKind{publishPacket}, kind: "renumbered",
		holds:  "%d PUBLISHes were sent again by the broker with their packet id after the session was resumed",
		nobody: "the broker sent no PUBLISH again after a session was resumed",
		look: func(l *ledger, t *talker, p *packet, open *exchange) (string, bool) {
			if repeats(l, t, p, open) {
				return "", open.conn < p.conn
			}
			if before := l.renumbered(t, p); before >= 0 {
				return sentence("was sent again by the broker with packet id %d, without DUP; it had packet id %d before its client came back", p.id, before), true
			}
			return "", false
		},
	}
}

// renumbered returns the packet id that a message had on an earlier connection of the session, if a
// PUBLISH without DUP has another one and the client never answered the first; None otherwise.
func (l *ledger) renumbered(t *talker, p *packet) int64 {
	if p.qos == 0 || p.flags.Has(history.FlagDup) || !l.sentAgain(p) {
		return history.None
	}
	return t.open[1].find(func(e *exchange) bool {
		return e.of(p) && e.session == t.session && e.conn < p.conn && e.state == published
	})
}

// sentAgain reports whether the message of a PUBLISH was one to the broker, which sent it to the
// client more than once. A producer that sent the message again made it two. A node that ended may
// have forgotten the first.
func (l *ledger) sentAgain(p *packet) bool {
	to := l.wire.to(p.process, p.stream, p.seq)
	if to == nil || to.n < 2 || p.flags.Has(history.FlagRetain) || !l.single(p.process, p.stream) {
		return false
	}
	from := l.wire.from(p.stream, p.seq)
	return from != nil && from.n <= 1 && !l.mayHaveEnded(l.calledAt(p.stream, p.seq), p.time)
}

// renumber gives a PUBLISH that the broker sends again another packet id, and takes its DUP.
func renumber(ctx Context) *mutation {
	l := ctx.ledger
	first := map[handed]int32{} // the connection on which a message was sent first
	return onePacket(l, "the broker sent no PUBLISH again after a session was resumed", func(b *history.Batch, p *packet) (*history.Batch, string) {
		if p.kind != publishPacket || p.sender() != 1 || p.stream < 0 || p.id < 0 || !l.canJudge(verdict.Broker, p) || !l.sentAgain(p) {
			return nil, ""
		}
		to := l.wire.to(p.process, p.stream, p.seq)
		if to.renewed > 0 {
			return nil, ""
		}
		message := handed{p.process, p.stream, p.seq}
		conn, again := first[message]
		if !again {
			conn, first[message] = p.conn, p.conn
		}
		if open := ctx.dialogue.of[p.process].open[1].at(p.id); open.of(p) && open.state == published { // in an earlier batch
			conn = open.conn
		}
		if conn >= p.conn || !p.flags.Has(history.FlagDup) || to.acked >= 0 && int64(to.acked) < p.row || to.taken >= 0 && int64(to.taken) < p.row {
			return nil, ""
		}
		c := *b
		c.ID, c.Flags = slices.Clone(b.ID[:b.N]), slices.Clone(b.Flags[:b.N])
		c.ID[p.i], c.Flags[p.i] = otherID, c.Flags[p.i]&^history.FlagDup
		return &c, sentence("had %s sent again by the broker with packet id %d, without DUP", l.message(p.stream, p.seq), otherID)
	})
}

// otherID is a packet id that a broker hardly reaches.
const otherID = 65535
