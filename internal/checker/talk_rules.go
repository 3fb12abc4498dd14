package checker

import (
	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/verdict"
)

// who names the sender of a message in a rule's words.
func who(p verdict.Party) (side int, name string) {
	if p == verdict.Broker {
		return 1, "broker"
	}
	return 0, "client"
}

// repeats reports whether a packet is the PUBLISH of a message again, with its
// packet id, in the session in which it was sent before.
func repeats(l *ledger, t *talker, p *packet, open *exchange, side int) bool {
	if p.kind != publishPacket || p.sender() != side || p.qos == 0 || open == nil || p.stream < 0 || p.flags.Has(history.FlagRetain) {
		return false
	}
	if side == 1 && !l.single(p.process, p.stream) {
		return false
	}
	return open.session == t.session && open.stream == p.stream && open.seq == p.seq
}

// flagged is that a PUBLISH which is sent again says so (MQTT-3.3.1-1): with
// the packet id of the first, in one session, not answered yet.
func flagged(of verdict.Party) rule {
	side, name := who(of)
	return rule{
		of: of, kind: "unflagged",
		holds:  "%d PUBLISHes were sent again by the " + name + ", all of them with DUP",
		nobody: "the " + name + " sent no PUBLISH again",
		look: func(l *ledger, t *talker, p *packet, open *exchange) (string, bool) {
			if !repeats(l, t, p, open, side) || open.state >= released {
				return "", false
			}
			if p.flags.Has(history.FlagDup) {
				return "", true
			}
			return sentence("was sent again by the %s with packet id %d, without DUP", name, p.id), true
		},
	}
}

// releasedOnce is that no PUBLISH of QoS 2 is sent again after its PUBREL
// (MQTT-4.3.3-1).
func releasedOnce(of verdict.Party) rule {
	side, name := who(of)
	return rule{
		of: of, kind: "resent",
		holds:  "%d PUBRELs of the " + name + " ended their PUBLISH, none was sent again",
		nobody: "the " + name + " sent no PUBREL",
		look: func(l *ledger, t *talker, p *packet, open *exchange) (string, bool) {
			if p.kind == pubrelPacket && p.sender() == side {
				return "", true
			}
			if !repeats(l, t, p, open, side) || p.qos != 2 || open.state < released || side == 1 && open.state == done && l.anew(p) {
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

// answered is that a broker answers with the packet id of what it was sent, and
// as its QoS asks (MQTT-4.3.2-2, MQTT-4.3.3-2).
var answered = rule{
	of: verdict.Broker, kind: "misanswered",
	holds:  "%d answers of the broker had the packet id of a PUBLISH or PUBREL",
	nobody: "the broker answered nothing",
	look: func(l *ledger, t *talker, p *packet, open *exchange) (string, bool) {
		if !p.toClient || p.id < 0 || p.kind != pubackPacket && p.kind != pubrecPacket && p.kind != pubcompPacket {
			return "", false
		}
		switch {
		case open == nil:
			return sentence("was answered by a %s of the broker, and was never used by the client", p.kind), true
		case (p.kind == pubackPacket) != (open.qos == 1) && !open.twice:
			return sentence("was answered by a %s, and is of QoS %d", p.kind, open.qos), true
		}
		return "", true
	},
}

// inTurn is that a client answers PUBLISHes in the order in which it was sent
// them: QoS 1 by PUBACK (MQTT-4.6.0-2), QoS 2 by PUBREC (MQTT-4.6.0-3).
var inTurn = rule{
	of: verdict.SDK, kind: "misordered",
	holds:  "%d PUBACKs and PUBRECs came in the order of their PUBLISHes",
	nobody: "no client answered a PUBLISH",
	look: func(l *ledger, t *talker, p *packet, open *exchange) (string, bool) {
		if p.toClient || p.kind != pubackPacket && p.kind != pubrecPacket || open == nil || open.twice || open.conn != p.conn || open.qos > 2 || open.state != published {
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

func (k packetKind) String() string {
	return [...]string{"packet", "CONNECT", "CONNACK", "PUBLISH", "PUBACK", "PUBREC", "PUBREL", "PUBCOMP", "SUBSCRIBE", "SUBACK", "UNSUBSCRIBE", "DISCONNECT", "end", "what cannot be read"}[k]
}
