package checker

import (
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimBrokerResendDup = Entry{
	Claim: verdict.Claim{Name: "broker-resend-dup", Severity: verdict.P3, Wire: true,
		Text:   "The DUP flag MUST be set to 1 by the Client or Server when it attempts to re-deliver a PUBLISH Packet.",
		Source: "MQTT 3.1.1 section 3.3.1.1 [MQTT-3.3.1-1]"},
	Category: Safety, Checker: "flagged@5", Protocols: mqtt, New: talks(flagged(verdict.Broker)), canary: strip(verdict.Broker),
}

var claimSDKResendDup = Entry{
	Claim: verdict.Claim{Name: "sdk-resend-dup", Severity: verdict.P3, Of: verdict.SDK, Wire: true,
		Text:   "The DUP flag MUST be set to 1 by the Client or Server when it attempts to re-deliver a PUBLISH Packet.",
		Source: "MQTT 3.1.1 section 3.3.1.1 [MQTT-3.3.1-1]"},
	Category: Safety, Checker: "flagged@5", Protocols: mqtt, New: talks(flagged(verdict.SDK)), canary: strip(verdict.SDK),
}

// flagged is that a PUBLISH which is sent again says so (MQTT-3.3.1-1): with
// the packet id of the first, in one session, not answered yet.
func flagged(of verdict.Party) rule {
	side, name := who(of)
	return rule{
		of: of, side: side, kinds: []packetKind{publishPacket}, kind: "unflagged",
		holds:  "%d PUBLISHes were sent again by the " + name + ", all of them with DUP",
		nobody: "the " + name + " sent no PUBLISH again",
		look: func(l *ledger, t *talker, p *packet, open *exchange) (string, bool) {
			if !repeats(l, t, p, open) || open.state >= released || open.shared {
				return "", false
			}
			if p.flags.Has(history.FlagDup) {
				return "", true
			}
			if side == 1 && l.setBack(p, open) {
				return "", false
			}
			return sentence("was sent again by the %s with packet id %d, without DUP", name, p.id), true
		},
	}
}

// strip sends one PUBLISH again, without DUP.
func strip(of verdict.Party) func(Context) *mutation {
	side, name := who(of)
	return func(ctx Context) *mutation {
		l := ctx.ledger
		return onePacket(l, "the "+name+" sent no PUBLISH of QoS 1 or 2", func(b *history.Batch, p *packet) (*history.Batch, string) {
			if p.kind != publishPacket || p.sender() != side || p.id < 0 || p.stream < 0 || !l.canJudge(of, p) || p.flags.Has(history.FlagRetain) || side == 1 && !l.single(p.process, p.stream) {
				return nil, ""
			}
			e := b.Event(p.i)
			e.Flags &^= history.FlagDup
			return with(b, p.i, e), sentence("had %s sent again by the %s without DUP", l.message(p.stream, p.seq), name)
		})
	}
}
