package checker

import "slices"

// A fate is what became of an acknowledged message that did not come.
type fate uint8

const (
	lost      fate = iota
	forgotten      // lost with the session that it was in
	inFlight       // it may still have been on its way when the run ended
	unowed         // it ended with the session of its producer
	doubted        // its session may have been over
	overLimit      // the broker may have had no room for it
	fates          // how many there are
)

// gone reports whether the message is lost.
func (f fate) gone() bool { return f == lost || f == forgotten }

// A miss is an acknowledged message that did not come to the subscriber to which it was
// due, or to any member of the group.
type miss struct {
	members []int32 // of the group, or the subscriber alone
	group   int32   // None: it was due to a subscriber
	stream  int32
	seq     int64
	fate    fate
	doubt   promise // why nobody knows what was owed, of a doubted one
}

// missOf returns the miss of a message. Waits says that those to whom it was due had not
// drained when the run ended.
func (r *rooms) missOf(members []int32, group, stream int32, seq int64, waits bool) miss {
	m := miss{members: members, group: group, stream: stream, seq: seq}
	if waits {
		m.fate = inFlight
		return m
	}
	switch is := r.ledger.promised(stream, seq, members...); {
	case is == expired:
		m.fate = unowed
	case is > lasting:
		m.fate, m.doubt = doubted, is
	case r.ledger.forgot(members, stream, seq):
		m.fate = forgotten
	case r.lackedBy(members, stream, seq):
		m.fate = overLimit
	}
	return m
}

// forgot reports whether a session that a message may have been in was lost after the
// message was called.
func (l *ledger) forgot(members []int32, stream int32, seq int64) bool {
	called := l.calledAt(stream, seq)
	return slices.ContainsFunc(members, func(p int32) bool {
		s := &l.sessions.of[p]
		return s.lost && called < s.relost
	})
}

// A toll counts misses by their fate.
type toll struct {
	of    [fates]int64
	doubt promise // the worst of all
}

func (t *toll) add(m miss) {
	t.of[m.fate]++
	t.doubt = max(t.doubt, m.doubt)
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
	ifGone := func(m miss) {
		if m.fate.gone() {
			f(m)
		}
	}
	c.subscribers.misses(end, ifGone)
	if !c.groups.strange() {
		c.groups.misses(end, ifGone)
	}
}
