package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A reason is why a message that did not come, or a session that was not there, may be no
// violation.
type reason uint8

const (
	none            reason = iota // nothing excuses it
	expired                       // the time of the session was over
	untimed                       // the broker may have ended the connection before its client noticed
	moved                         // a fault moved the clock by which the broker counts
	untold                        // the broker may have granted less time than was asked for
	maybeUnreleased               // the session of its producer may have ended before PUBCOMP
	unreleased                    // it did
	aged                          // a fault moved the clock by which a message is too old
	outwaited                     // it waited longer than the broker keeps one
	forgotten                     // it is lost with the session that it was in
	full                          // the broker had no room for it, by a limit that is known
	unconfirmed                   // there was none, if the limit counts what the client had not acknowledged
	maybeFull                     // the broker may have had no room for it
	inFlight                      // it may have been on its way when the run ended
	reasons                       // how many there are
)

// A weight is what a reason makes of what is missing.
type weight string

const (
	violation weight = "violation"
	unowed    weight = "not owed" // and not judged
	allowed   weight = "allowed"
	unknown   weight = "unknown"
	apart     weight = "–" // the reason has nothing to do with it
)

// An excuse is what a reason makes of a lost message, a missing will and a missing session.
type excuse struct {
	why                 string
	but                 string // in the summary of a pass: [1] is how many, [2] the limit of a queue
	loss, will, session weight
}

const (
	inSessions = ", but %[1]d in sessions that may have been over"
	tooOld     = ", but %[1]d that may have expired"
)

// excuses is the table of docs/excuses.md.
var excuses = [reasons]excuse{
	none:    {"no other reason", "", violation, violation, violation},
	expired: {"the time of the session was over", "", unowed, unowed, unowed},
	untimed: {"its time may have been over, as the broker may have ended the connection long before that was seen", inSessions, unknown, unowed, unknown},
	moved:   {"its time may have been over by the clock of its node, which a fault moved", inSessions, unknown, unowed, unknown},
	untold: {"its time may have been over, as the broker may have granted it less than was asked for, in a CONNACK that was not recorded; start with arm [tap]",
		inSessions, unknown, unowed, unknown},
	maybeUnreleased: {"the session of a producer may have ended before PUBCOMP, and its message of QoS 2 with it; start with arm [tap]", inSessions, unknown, apart, apart},
	unreleased:      {"the session of a producer ended before PUBCOMP, and its message of QoS 2 with it", "", unowed, apart, apart},
	aged:            {"the messages may have been too old by the clock of a node, which a fault moved", tooOld, unknown, unowed, apart},
	outwaited:       {"the messages waited longer than the broker keeps one for a client that is away, by its settings", tooOld, unknown, unowed, apart},
	forgotten:       {"the broker lost the session that it was in", "", violation, unowed, apart},
	full: {"the queue of a session may have been full, by the limit of the broker's settings",
		", except %[1]d for which there was no room: the broker keeps %[2]d messages for a session", allowed, allowed, apart},
	unconfirmed: {"the queue of a session may have been full, if its limit counts messages that were delivered and not yet acknowledged: let it keep more, or run at a lower rate",
		", except %[1]d of subscribers whose queue may have been full", unknown, unknown, apart},
	maybeFull: {"how much this broker keeps for a session is not known: let it keep more, in messages and in bytes, run at a lower rate, or give --queue-limit for an external broker",
		", except %[1]d of subscribers whose queue may have been full", unknown, unknown, apart},
	inFlight: {"a subscriber had not drained when the run ended: its missing messages may still have been in flight and are not counted as lost", "", unknown, unknown, apart},
}

// String says why, for people.
func (r reason) String() string { return excuses[r].why }

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

// Claims whose violations have excuses.
func ofLosses(e excuse) weight { return e.loss }
func ofWills(e excuse) weight  { return e.will }
