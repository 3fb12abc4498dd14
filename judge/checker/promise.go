package checker

import (
	"math"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A promise is what a broker owes a client that comes back to its session.
type promise uint8

const (
	expired promise = iota // nothing: the session's time is over
	lasting                // the session
	untimed                // one of both: the broker may have ended the connection before its client noticed
	moved                  // one of both: a fault moved the clock by which the broker counts
	untold                 // one of both: the broker may have granted less time than was asked for
	aged                   // one of both: a message may have been too old by a clock that a fault moved
)

// String says why nobody knows what was owed.
func (p promise) String() string {
	return [...]string{"its time was over", "its time was not over", "its time may have been over, as the broker may have ended the connection long before that was seen",
		"its time may have been over by the clock of its node, which a fault moved",
		"its time may have been over, as the broker may have granted it less than was asked for, in a CONNACK that was not recorded; start with arm [tap]",
		"the messages may have been too old by the clock of a node, which a fault moved"}[p]
}

// unknownTime is a time among the settings of a broker that are not known.
const unknownTime = -1

// settingOf returns a time among the settings of a broker, in nanoseconds.
func settingOf(c history.ClusterInfo, seconds float64) int64 {
	switch {
	case c.Lacks[history.LacksLimits] != "":
		return unknownTime
	case seconds == 0:
		return never
	}
	return int64(seconds * 1e9)
}

// noExpiry is the expiry of a session that has none.
const noExpiry = 0xFFFFFFFF

// promise returns what a broker owes a client whose CONNECT returned at a time.
func (s *sessions) promise(process int32, p *session, back int64) promise {
	row := s.tables.Processes[process]
	if row.Clean {
		return expired
	}
	g := s.wire.greetedIn(process, p.call, p.row)
	expiry, left := s.expiryOf(row, g), s.ended(process, p, g)
	switch {
	case expiry == unknownTime && s.ledger.clocksMoved(left, back) > 0:
		return moved
	case expiry == unknownTime:
		return lasting
	case expiry == 0, expiry != never && p.left != never && back-p.left >= expiry:
		return expired
	case expiry != never && back-left >= expiry:
		return untimed
	case expiry != never && back-left+s.ledger.clocksMoved(left, back) >= expiry:
		return moved
	case s.shortens && row.Protocol == contract.MQTT5 && (g == nil || g.expiryS < 0):
		return untold
	}
	return lasting
}

// expiryOf returns how long a process's session outlives a connection: for as long as it
// asked, or less where the broker granted less. MQTT 5 allows that to a broker that says
// so in CONNACK (section 3.2.2.3.2). A session of MQTT 3.1.1 lasts as long as the settings of the
// broker say.
func (s *sessions) expiryOf(row history.Process, g *greeting) int64 {
	if row.Protocol != contract.MQTT5 {
		return s.ledger.session
	}
	asked := float64(row.ExpiryS)
	if g != nil && g.expiryS >= 0 {
		asked = min(asked, g.expiryS)
	}
	if asked >= noExpiry {
		return never
	}
	return int64(asked * 1e9)
}

// ended returns when a broker may have ended a client's last connection at the earliest:
// from then on it counts the session's time. The wire has the end, which a fault or a host
// that stood still may have kept from it. Without packets it is when the broker let the
// client in, or had the last message that it delivered.
func (s *sessions) ended(process int32, p *session, g *greeting) int64 {
	if g == nil {
		return max(p.at, s.ledger.calledAt(p.stream, p.seq))
	}
	end := g.closed
	if end == 0 {
		return g.alive
	}
	for _, w := range s.ledger.windowsOf(process) {
		if int64(w.End) >= g.alive {
			end = min(end, max(g.alive, int64(w.Start)))
		}
	}
	for _, t := range s.ledger.stills {
		if t.to >= g.alive {
			end = min(end, max(g.alive, t.from))
		}
	}
	return end
}

// clocksMoved returns by how much faults that were in place at any time between two moved
// the clocks of nodes, at most. Where one is put back, it goes forward at the heal.
func (l *ledger) clocksMoved(from, to int64) (ns int64) {
	for _, f := range l.landings {
		windows := history.Windows([]history.Landing{f})
		if f.MovesClock() && overlap(windows, from, to) {
			ns += int64(min(1e9*clockMoved(f, min(int64(windows[0].End), to)-int64(windows[0].Start)), 1e18))
		}
	}
	return ns
}

// clockMoved returns by how many seconds a fault moves a clock in a time, at most.
func clockMoved(f history.Landing, took int64) float64 {
	if factor, ok := f.Params["factor"].(float64); ok {
		return math.Abs(factor-1) * float64(took) / 1e9
	}
	by, _ := f.Params["offset_s"].(float64)
	return math.Abs(by)
}

// doubted reports whether a message was in a session that the broker did not know any
// more, of which nobody knows whether it was over.
func (p *session) doubted(called int64) bool {
	return p.lost && called < p.relost && p.doubt > lasting
}

// promised returns what is owed of an acknowledged message: [lasting] if the processes should
// have it, [expired] if it ended with the session of its producer, and otherwise why nobody
// knows.
func (l *ledger) promised(stream int32, seq int64, to ...int32) promise {
	switch revived, known := l.revived(stream, seq); {
	case revived:
		return expired
	case !known:
		return untimed
	}
	for _, p := range to {
		if of := &l.sessions.of[p]; of.doubted(l.calledAt(stream, seq)) {
			return of.doubt
		}
	}
	if slices.ContainsFunc(to, func(p int32) bool { return l.aged(p, l.calledAt(stream, seq)) }) {
		return aged
	}
	return lasting
}

// aged reports whether a message may have been too old when its process came back, in time or by a
// clock that a fault moved. A process that stays connected is there to take it.
func (l *ledger) aged(process int32, called int64) bool {
	p := &l.sessions.of[process]
	if l.wait == never || l.tables.Processes[process].Protocol == contract.MQ9 || p.stays(called, l.clocksBack()) {
		return false
	}
	back := int64(never)
	if i, _ := slices.BinarySearch(p.connects, called); i < len(p.connects) {
		back = p.connects[i]
	}
	by := l.clocksMoved(called, back)
	if l.wait == unknownTime {
		return by > 0
	}
	return back-called >= l.wait-by
}

// mayAge reports whether faults moved clocks since a time by so much that a message may be too old.
func (l *ledger) mayAge(called int64) bool {
	by := l.clocksMoved(called, never)
	return by > 0 && by >= l.wait
}

// clocksBack returns when the last fault on a clock was healed.
func (l *ledger) clocksBack() (at int64) {
	for _, f := range l.landings {
		if f.MovesClock() {
			for _, w := range history.Windows([]history.Landing{f}) {
				at = max(at, int64(w.End))
			}
		}
	}
	return at
}

// doubtful takes into a result how many of what is missing was in such sessions.
func doubtful(r *verdict.Result, n int64, why promise) {
	if r.Status != verdict.Pass || n == 0 {
		return
	}
	if why == aged {
		r.Summary += summary(", but %d that may have expired", n)
		unsure(r, sentence("%s", why))
		return
	}
	r.Summary += summary(", but %d in sessions that may have been over", n)
	unsure(r, sentence("the broker did not know the session of a client that came back: %s", why))
}
