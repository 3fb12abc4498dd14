package checker

import (
	"math"
	"slices"
	"sort"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// sessions follows the MQTT sessions of all processes: when they connected,
// what they had subscribed to, and when the broker forgot them.
type sessions struct {
	tables *history.Tables
	wire   *wire
	of     []session
	calls  map[int64]string // filters of SUBSCRIBEs under way
	dials  dials
}

type session struct {
	subscribed []subscription
	tried      bool    // it called CONNECT
	connects   []int64 // times of those that succeeded
	call, row  int64   // of the last of them: CONNECT, and its return
	turns      []int64 // times at which it came or went, in order
	connected  bool    // now
	at         int64   // time of the last connection
	left       int64   // time of the last disconnect
	ended      int64   // time of KindEnd; 0 is not yet
	last       int64   // time of the last delivery
	grant      uint8   // the lowest QoS that a SUBACK granted it so far
	over       bool    // its time was over, at least once, or it had none
	lost       bool    // the broker forgot it, at least once
	relost     int64   // until when: the time of the first SUBACK after the last time
}

type subscription struct {
	filter string
	from   int64 // SUBACK, the first
}

// dials are the CONNECTs under way: the times of the calls, by their rows.
type dials map[int64]int64

func (d dials) call(b *history.Batch, i int) { d[b.Index[i]] = b.Time[i] }

// end returns when the CONNECT that returns in a row was called. Without a recorded
// call it is the time of the return.
func (d dials) end(b *history.Batch, i int) int64 {
	sent, ok := d[b.Call[i]]
	if !ok {
		sent = b.Time[i]
	}
	delete(d, b.Call[i])
	return sent
}

const never = math.MaxInt64

func newSessions(t *history.Tables, w *wire) *sessions {
	s := &sessions{tables: t, wire: w, of: make([]session, len(t.Processes)), calls: map[int64]string{}, dials: dials{}}
	for i := range s.of {
		s.of[i].left, s.of[i].grant = never, 2
	}
	return s
}

func (s *sessions) add(b *history.Batch, r *rows) {
	for _, d := range r.delivered {
		if p := b.Process[d.i]; uint32(p) < uint32(len(s.of)) {
			s.of[p].last = max(s.of[p].last, b.Time[d.i])
		}
	}
	for _, i := range r.control {
		i := int(i)
		if uint32(b.Process[i]) >= uint32(len(s.of)) {
			continue
		}
		p := &s.of[b.Process[i]]
		switch b.Kind[i] {
		case history.KindConnect:
			s.connect(b, i, p)
		case history.KindDisconnect:
			if p.connected {
				p.connected, p.left = false, b.Time[i]
				p.turns = append(p.turns, p.left)
			}
		case history.KindSubscribe:
			s.subscribe(b, i, p)
		case history.KindUnsubscribe:
			if b.Edge[i] == history.Call {
				p.unsubscribe(b.Text(i))
			}
		case history.KindEnd:
			p.ended = b.Time[i]
		}
	}
}

func (s *sessions) connect(b *history.Batch, i int, p *session) {
	if b.Edge[i] == history.Call {
		p.tried = true
		s.dials.call(b, i)
		return
	}
	if b.Edge[i] != history.Return {
		return
	}
	sent := s.dials.end(b, i)
	if b.Outcome[i] != history.OK {
		return
	}
	row := s.tables.Processes[b.Process[i]]
	// mq9 keeps the state of a group with the mailbox, whoever connects.
	if len(p.connects) > 0 && !b.Flags[i].Has(history.FlagSessionPresent) && row.Protocol != contract.MQ9 {
		p.forget(lasts(s.wire.shortened(row, b.Process[i], p.call, p.row), p.left, sent))
	}
	p.connects, p.turns = append(p.connects, b.Time[i]), append(p.turns, b.Time[i])
	p.connected, p.at, p.call, p.row = true, b.Time[i], b.Call[i], b.Index[i]
}

// forget notes that the broker has no session any more: against its promise,
// or because the session was over.
func (p *session) forget(promised bool) {
	if promised {
		p.lost, p.relost = true, never
		return
	}
	p.subscribed, p.lost, p.over = nil, false, true
}

// shortened returns a process with the session expiry that the broker granted in the
// CONNACK between two rows, if that is less than the process asked for. MQTT 5 allows a
// broker to grant less if it says so (section 3.2.2.3.2).
func (w *wire) shortened(row history.Process, process int32, from, to int64) history.Process {
	if w.on && row.Protocol == contract.MQTT5 {
		if g := w.clients[process].greetedIn(from, to); g != nil && g.expiryS >= 0 && g.expiryS < float64(row.ExpiryS) {
			row.ExpiryS = int(g.expiryS)
		}
	}
	return row
}

// lasts reports whether a process's session outlives the time from left to
// back.
func lasts(row history.Process, left, back int64) bool {
	const forever = 0xFFFFFFFF
	switch {
	case row.Clean:
		return false
	case row.Protocol != contract.MQTT5, row.ExpiryS == forever:
		return true
	case left == never:
		return row.ExpiryS > 0
	}
	return back-left < int64(row.ExpiryS)*1e9
}

func (s *sessions) subscribe(b *history.Batch, i int, p *session) {
	if b.Edge[i] == history.Call {
		s.calls[b.Index[i]] = b.Text(i)
		return
	}
	filter := s.calls[b.Call[i]]
	delete(s.calls, b.Call[i])
	if b.Edge[i] != history.Return || b.Outcome[i] != history.OK {
		return
	}
	if p.lost && p.relost == never {
		p.relost = b.Time[i]
	}
	if !slices.Contains(s.tables.Processes[b.Process[i]].Cannot, contract.CannotGrantedQoS) {
		p.grant = min(p.grant, b.Reason[i])
	}
	if !slices.ContainsFunc(p.subscribed, func(u subscription) bool { return u.filter == filter }) {
		p.subscribed = append(p.subscribed, subscription{filter, b.Time[i]})
	}
}

func (p *session) unsubscribe(filter string) {
	p.subscribed = slices.DeleteFunc(p.subscribed, func(u subscription) bool { return u.filter == filter })
}

// cameBack reports whether a process connected between two times.
func (s *sessions) cameBack(process int32, from, to int64) bool {
	return slices.ContainsFunc(s.of[process].connects, func(t int64) bool { return from <= t && t <= to })
}

// stays reports whether a process was connected before a time, and neither came
// nor went until another.
func (p *session) stays(from, to int64) bool {
	i := sort.Search(len(p.turns), func(i int) bool { return p.turns[i] >= from })
	if i == 0 || i < len(p.turns) && p.turns[i] <= to {
		return false
	}
	_, connected := slices.BinarySearch(p.connects, p.turns[i-1])
	return connected
}

// persistent reports whether the process's session is to outlive connections.
func (s *sessions) persistent(process int32) bool {
	row := s.tables.Processes[process]
	return !row.Clean && (row.Protocol != contract.MQTT5 || row.ExpiryS > 0)
}

// due is the time from which on acknowledged messages on a topic must reach
// the process, or never.
func (s *sessions) due(process int32, topic string) int64 {
	from := int64(never)
	if s.of[process].grant == 0 { // the server said that it promises nothing
		return never
	}
	for _, u := range s.of[process].subscribed {
		if _, _, shared := history.CutShare(u.filter); !shared && history.Matches(u.filter, topic) {
			from = min(from, u.from)
		}
	}
	return from
}

// takes reports whether any filter that the process ever had matches.
func (s *sessions) takes(process int32, topic string) bool {
	for _, f := range s.tables.Processes[process].Filters {
		if history.Matches(f.Filter, topic) {
			return true
		}
	}
	return slices.ContainsFunc(s.of[process].subscribed, func(u subscription) bool { return history.Matches(u.filter, topic) })
}
