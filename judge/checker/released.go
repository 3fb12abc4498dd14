package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimBrokerQoS2Flow = Entry{
	Claim: verdict.Claim{Name: "broker-qos2-flow", Severity: verdict.P0, Wire: true,
		Text:   "The sender MUST NOT re-send the PUBLISH once it has sent the corresponding PUBREL packet.",
		Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-1]; MQTT 5.0 section 4.3.3 [MQTT-4.3.3-6]"},
	Category: Safety, Checker: "released@5", Protocols: mqtt, New: talks(releasedOnce(verdict.Broker)), canary: releaseTwice(verdict.Broker),
}

var claimSDKQoS2Flow = Entry{
	Claim: verdict.Claim{Name: "sdk-qos2-flow", Severity: verdict.P1, Of: verdict.SDK, Wire: true,
		Text:   "The sender MUST NOT re-send the PUBLISH once it has sent the corresponding PUBREL packet.",
		Source: "MQTT 3.1.1 section 4.3.3 [MQTT-4.3.3-1]; MQTT 5.0 section 4.3.3 [MQTT-4.3.3-6]"},
	Category: Safety, Checker: "released@5", Protocols: mqtt, New: talks(releasedOnce(verdict.SDK)), canary: releaseTwice(verdict.SDK),
}

// releasedOnce is that no PUBLISH of QoS 2 is sent again after its PUBREL
// (MQTT-4.3.3-1).
func releasedOnce(of verdict.Party) rule {
	side, name := who(of)
	return rule{
		of: of, side: side, kinds: []packetKind{publishPacket, pubrelPacket}, kind: "resent",
		holds:  "%d PUBRELs of the " + name + " ended their PUBLISH, none was sent again",
		nobody: "the " + name + " sent no PUBREL",
		look: func(l *ledger, t *talker, p *packet, open *exchange) (string, bool) {
			if p.kind == pubrelPacket {
				return "", true
			}
			if !repeats(l, t, p, open) || p.qos != 2 || open.state < released || open.shared || side == 1 && (open.state == done && l.anew(p) || l.setBack(p, open)) {
				return "", false
			}
			return sentence("was sent again by the %s with packet id %d, after its PUBREL", name, p.id), true
		},
	}
}

// anew reports whether the producer of what a broker sends began more than one
// exchange for it: to the broker they are several messages, and their packet ids
// are free again once each is done.
func (l *ledger) anew(p *packet) bool {
	from := l.wire.from(p.stream, p.seq)
	return from == nil || from.begun > 1
}

// setBack reports whether a broker may have come back without what it had sent of a message,
// before the connection with the second PUBLISH.
func (l *ledger) setBack(p *packet, open *exchange) bool {
	return p.conn != open.conn && l.mayForget(p.stream, p.seq, p.time)
}

// mayForget reports whether a broker may have forgotten until a time what it had sent of a
// message. It may if its vendor does not promise durability, and a node may have ended since the
// message was published.
func (l *ledger) mayForget(stream int32, seq, until int64) bool {
	return !l.durable && l.mayHaveEnded(l.calledAt(stream, seq), until)
}

// mayHaveEnded reports whether the process of a node may have ended between two times.
func (l *ledger) mayHaveEnded(from, until int64) bool {
	ends := slices.DeleteFunc(slices.Clone(l.landings), func(f history.Landing) bool { return !f.Ends })
	return l.firstExit <= until || overlap(history.Windows(ends), from, until)
}

// releaseTwice sends one PUBLISH again after its PUBREL.
func releaseTwice(of verdict.Party) func(Context) *mutation {
	side, name := who(of)
	return func(ctx Context) *mutation {
		l := ctx.ledger
		return onePacket(l, "the "+name+" sent no PUBREL", func(b *history.Batch, p *packet) (*history.Batch, string) {
			if p.kind != pubrelPacket || p.sender() != side || p.stream < 0 || !l.canJudge(of, p) || side == 1 && !l.single(p.process, p.stream) {
				return nil, ""
			}
			e := b.Event(p.i)
			e.Text, e.QoS = history.PacketPublish, 2
			e.Flags |= history.FlagDup
			return with(b, p.i, e), sentence("had %s sent again by the %s after its PUBREL", l.message(p.stream, p.seq), name)
		})
	}
}
