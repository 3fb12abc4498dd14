package checker

import (
	"math"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

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

// promise returns why a broker may owe no session to a client whose CONNECT returned at a time.
func (s *sessions) promise(process int32, p *session, back int64) reason {
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
		return none
	case expiry == 0, expiry != never && p.left != never && back-p.left >= expiry:
		return expired
	case expiry != never && back-left >= expiry:
		return untimed
	case expiry != never && back-left+s.ledger.clocksMoved(left, back) >= expiry:
		return moved
	case s.shortens && row.Protocol == contract.MQTT5 && (g == nil || g.expiryS < 0):
		return untold
	}
	return none
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
