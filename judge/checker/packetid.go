package checker

import (
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimBrokerPacketID = Entry{
	Claim: verdict.Claim{Name: "broker-packet-id", Severity: verdict.P2, Wire: true,
		Text:   "Each time a Server sends a new PUBLISH (with QoS > 0) it MUST assign it a Packet Identifier that is currently unused: one becomes available for reuse with PUBACK (QoS 1) or PUBCOMP (QoS 2).",
		Source: "MQTT 3.1.1 section 2.3.1 [MQTT-2.3.1-4]; MQTT 5.0 section 2.2.1 [MQTT-2.2.1-4]"},
	Category: Safety, Checker: "unused@1", Protocols: mqtt, New: talks(unusedID(verdict.Broker)), canary: shareID(verdict.Broker),
}

var claimSDKPacketID = Entry{
	Claim: verdict.Claim{Name: "sdk-packet-id", Severity: verdict.P2, Of: verdict.SDK, Wire: true,
		Text:   "Each time a Client sends a new PUBLISH (with QoS > 0) it MUST assign it a Packet Identifier that is currently unused: one becomes available for reuse with PUBACK (QoS 1) or PUBCOMP (QoS 2).",
		Source: "MQTT 3.1.1 section 2.3.1 [MQTT-2.3.1-2], [MQTT-2.3.1-3]; MQTT 5.0 section 2.2.1 [MQTT-2.2.1-3]"},
	Category: Safety, Checker: "unused@1", Protocols: mqtt, New: talks(unusedID(verdict.SDK)), canary: shareID(verdict.SDK),
}

// unusedID is that a message has a packet id to itself (MQTT-2.3.1-2, MQTT-2.3.1-4)
// until its exchange is over. An acknowledgement on an earlier connection may be
// written down late, so that messages of one connection alone are compared.
func unusedID(of verdict.Party) rule {
	side, name := who(of)
	return rule{
		of: of, side: side, kinds: []packetKind{publishPacket}, kind: "id-in-use",
		holds:  "%d PUBLISHes of the " + name + " had a packet id of their own",
		nobody: "the " + name + " sent no PUBLISH of QoS 1 or 2",
		look: func(l *ledger, _ *talker, p *packet, open *exchange) (string, bool) {
			if p.qos == 0 || p.id < 0 || p.stream < 0 {
				return "", false
			}
			if open == nil || open.stream < 0 || open.of(p) || open.conn != p.conn || open.state == done {
				return "", true
			}
			return sentence("was sent by the %s with packet id %d, while %s had it: %s was still to come", name, p.id, l.message(open.stream, open.seq), open.ends()), true
		},
	}
}

// ends is the packet that ends an exchange.
func (e *exchange) ends() string {
	if e.qos == 2 {
		return "PUBCOMP"
	}
	return "PUBACK"
}

// shareID sends the next message with the packet id of one that was just sent.
func shareID(of verdict.Party) func(Context) *mutation {
	side, name := who(of)
	return func(ctx Context) *mutation {
		l := ctx.ledger
		return onePacket(l, "the "+name+" sent no PUBLISH of QoS 1 or 2", func(b *history.Batch, p *packet) (*history.Batch, string) {
			if p.kind != publishPacket || p.sender() != side || p.qos == 0 || p.id < 0 || p.stream < 0 || !l.canJudge(of, p) {
				return nil, ""
			}
			e := b.Event(p.i)
			e.Seq++
			return with(b, p.i, e), sentence("had %s sent by the %s with the packet id of the one before", l.message(p.stream, e.Seq), name)
		})
	}
}
