package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
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

// A miss is an acknowledged message that did not come to the subscriber to which it was
// due, or to any member of the group.
type miss struct {
	members []int32 // of the group, or the subscriber alone
	group   int32   // None: it was due to a subscriber
	stream  int32
	seq     int64
	why     reason
}

// lost reports whether nothing excuses it.
func (m miss) lost() bool { return excuses[m.why].loss == violation }

// why returns why an acknowledged message may not have come to any of the processes to which it
// was due. Waits says that they had not drained when the run ended.
func (r *capacity) why(stream int32, seq int64, waits bool, to ...int32) reason {
	if waits {
		return inFlight
	}
	l := r.ledger
	switch revived, known := l.revived(stream, seq); {
	case revived:
		return unreleased
	case !known:
		return maybeUnreleased
	}
	called, lost := l.calledAt(stream, seq), none
	for _, p := range to {
		s := &l.sessions.of[p]
		switch {
		case !s.lost || called >= s.relost:
		case s.doubt != none:
			return s.doubt
		default:
			lost = forgotten
		}
	}
	for _, p := range to {
		if why := l.aged(p, called); why != none {
			return why
		}
	}
	if lost == none {
		return r.lackedBy(to, stream, seq)
	}
	return lost
}

// aged returns why a message may have been too old when its process came back: in time, or by a
// clock that a fault moved. A process that stays connected is there to take it.
func (l *ledger) aged(process int32, called int64) reason {
	p := &l.sessions.of[process]
	if l.wait == never || l.tables.Processes[process].Protocol == contract.MQ9 || p.stays(called, l.clocksBack()) {
		return none
	}
	back := int64(never)
	if i, _ := slices.BinarySearch(p.connects, called); i < len(p.connects) {
		back = p.connects[i]
	}
	by := l.clocksMoved(called, back)
	switch {
	case l.wait == unknownTime && by == 0:
		return none
	case l.wait != unknownTime && back-called >= l.wait:
		return outwaited
	case l.wait == unknownTime, back-called >= l.wait-by:
		return aged
	}
	return none
}

// mayAge reports whether faults moved clocks since a time by so much that a message may be too old.
func (l *ledger) mayAge(called int64) bool {
	by := l.clocksMoved(called, never)
	return by > 0 && by >= l.wait
}

// missCounts count what did not come, by the reason.
type missCounts [reasons]int64

// weighing counts what has a weight.
func (t *missCounts) weighing(w weight, of func(excuse) weight) (n int64) {
	for why, k := range t {
		if of(excuses[why]) == w {
			n += k
		}
	}
	return n
}

// excuse takes the reasons into a result: what they excuse is no failure, and no pass if
// nobody knows.
func (t *missCounts) excuse(r *verdict.Result, of func(excuse) weight, q *queues) {
	if q.limit > 0 {
		r.Counts["over_limit"] = t[full] + t[unconfirmed] + t[maybeFull]
	}
	if r.Status != verdict.Pass {
		return
	}
	said := ""
	for why, n := range t {
		e := excuses[why]
		if n == 0 || e.but == "" || of(e) != allowed && of(e) != unknown {
			continue
		}
		if e.but != said {
			r.Summary += summary(e.but, t.sharing(e.but), q.limit)
		}
		if said = e.but; of(e) == unknown {
			if e.session == unknown {
				e.why = "the broker did not know the session of a client that came back: " + e.why
			}
			unsure(r, e.why)
		}
	}
}

// sharing counts what a summary says the same of.
func (t *missCounts) sharing(but string) (n int64) {
	for why, of := range t {
		if excuses[why].but == but {
			n += of
		}
	}
	return n
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
