package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// owed returns the time from which on the acknowledged messages of a stream must reach a process
// that keeps its session, or never.
func (l *ledger) owed(process, stream int32) int64 {
	row := l.tables.Streams[stream]
	if row.Register || row.QoS == 0 || !l.sessions.persistent(process) || l.route.get(process, stream).lossy() {
		return never
	}
	return l.sessions.due(process, row.Topic)
}

// lossy reports whether the subscription is at QoS 0, which promises nothing.
func (q pair) lossy() bool { return q.filters > 0 && q.qos == 0 }

// lasts reports whether the messages of a stream are acknowledged and stay until they are
// delivered. Messages or mailboxes with a time to live do not, and wills are never acknowledged:
// other claims judge those.
func (l *ledger) lasts(stream int32) bool {
	row := l.tables.Streams[stream]
	return !row.Register && !ephemeral(row) && row.QoS > 0 && !l.refusals(row.Producer)
}

// ephemeral reports whether a stream's messages or their mailbox have a time to live, or
// whether they are wills.
func ephemeral(s history.Stream) bool { return s.TTLS > 0 || s.MailboxTTLS > 0 || s.Will }

// refusals reports whether a producer's SDK hides the broker's refusals: a message that
// it calls acknowledged may have been refused.
func (l *ledger) refusals(producer int32) bool {
	if uint32(producer) >= uint32(len(l.tables.Processes)) {
		return false
	}
	p := l.tables.Processes[producer]
	return p.Protocol == contract.MQTT5 && slices.Contains(p.Cannot, contract.CannotPublishReason)
}

// certain reports whether it is known already that a message is owed from a time on: a canary
// that drops it must turn red.
func (l *ledger) certain(stream int32, seq, from int64) bool {
	m := l.sends.find(stream, seq)
	return m != nil && l.lasts(stream) && m.outcome == history.OK && from != never && m.called >= from && !l.mayAge(m.called)
}

// losses finds what is lost of every QoS, by subscribers and by groups.
type losses struct {
	subscribers *loss
	groups      *sharedLoss
}

func newLosses(ctx Context) *losses {
	return &losses{newLoss(ctx, 0, 2), &sharedLoss{ctx.ledger, ctx.receipts}}
}

// each calls f for each message that is lost. Groups of a broker that may know none have no
// messages to lose.
func (c *losses) each(end *closing, f func(miss)) {
	ifLost := func(m miss) {
		if m.lost() {
			f(m)
		}
	}
	c.subscribers.misses(end, ifLost)
	if !c.groups.unsupported() {
		c.groups.misses(end, ifLost)
	}
}
