package checker

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

// Claims whose violations have excuses.
func ofLosses(e excuse) weight { return e.loss }
func ofWills(e excuse) weight  { return e.will }
