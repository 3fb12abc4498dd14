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
	ledger   *ledger
	tables   *history.Tables
	wire     *wire
	of       []session
	calls    map[int64]string // filters of SUBSCRIBEs under way
	shortens bool             // the broker may grant less time than is asked for
	promises map[int64]reason // of clients that came back, by the row of CONNECT's return
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
	stream     int32   // of the last delivery
	seq        int64   // likewise
	grant      uint8   // the lowest QoS that a SUBACK granted it for any filter, 0 where that is not known
	over       bool    // its time was over, at least once, or it had none
	lost       bool    // the broker forgot it, at least once
	relost     int64   // until when: the time of the first SUBACK after the last time
	doubt      reason  // kept where the broker forgot it, and where it may have been over
	renewals   []renewal
}

// A renewal is that a client got a new session: the old one was over or may have been, or
// the client asked for a clean one.
type renewal struct{ left, back int64 } // times: of the end of the last connection, of the next one

type subscription struct {
	filter string
	from   int64 // SUBACK, the first
	owed   int64 // the first SUBACK with a QoS above 0 after the last with QoS 0; never
	grant  uint8 // the lowest QoS that a SUBACK granted it
}

const never = math.MaxInt64

func newSessions(l *ledger, shortens bool) *sessions {
	s := &sessions{ledger: l, tables: l.tables, wire: l.wire, shortens: shortens, of: make([]session, len(l.tables.Processes)), calls: map[int64]string{}, promises: map[int64]reason{}}
	for i := range s.of {
		s.of[i].left, s.of[i].grant, s.of[i].stream = never, 2, history.None
	}
	return s
}

func (s *sessions) add(b *history.Batch, r *rows) {
	next := 0
	hear := func(until int) {
		for ; next < len(r.delivered) && int(r.delivered[next].i) < until; next++ {
			s.hear(b, r.delivered[next])
		}
	}
	for _, i := range r.control {
		i := int(i)
		hear(i)
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
	hear(b.N)
}

func (s *sessions) hear(b *history.Batch, d delivery) {
	if p := b.Process[d.i]; uint32(p) < uint32(len(s.of)) {
		of := &s.of[p]
		of.last, of.stream, of.seq = max(of.last, b.Time[d.i]), b.Stream[d.i], d.seq
	}
}

func (s *sessions) connect(b *history.Batch, i int, p *session) {
	if b.Edge[i] == history.Call {
		p.tried = true
		s.wire.called(b.Process[i], b.Index[i], b.Time[i])
		return
	}
	if b.Edge[i] != history.Return || b.Outcome[i] != history.OK {
		return
	}
	// mq9 keeps the state of a group with the mailbox, whoever connects.
	if process := b.Process[i]; len(p.connects) > 0 && s.tables.Processes[process].Protocol != contract.MQ9 {
		promise := s.promise(process, p, b.Time[i])
		s.promises[b.Index[i]] = promise
		if !b.Flags[i].Has(history.FlagSessionPresent) {
			p.forget(promise)
			if g := s.wire.greetedIn(process, b.Call[i], b.Index[i]); promise != none || g != nil && g.clean {
				p.renewals = append(p.renewals, renewal{max(p.at, min(p.left, b.Time[i])), b.Time[i]})
			}
		}
	}
	p.connects, p.turns = append(p.connects, b.Time[i]), append(p.turns, b.Time[i])
	p.connected, p.at, p.call, p.row = true, b.Time[i], b.Call[i], b.Index[i]
}

// forget notes that the broker has no session any more: against its promise,
// or because the session was over, or nobody knows.
func (p *session) forget(by reason) {
	if by == expired {
		p.subscribed, p.lost, p.doubt, p.over = nil, false, 0, true
		return
	}
	p.lost, p.relost, p.doubt = true, never, max(p.doubt, by)
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
	grant := s.granted(b, i)
	p.grant = min(p.grant, grant)
	at := slices.IndexFunc(p.subscribed, func(u subscription) bool { return u.filter == filter })
	if at < 0 {
		at, p.subscribed = len(p.subscribed), append(p.subscribed, subscription{filter, b.Time[i], never, grant})
	}
	u := &p.subscribed[at]
	u.grant = min(u.grant, grant)
	switch {
	case grant == 0:
		u.owed = never
	case u.owed == never:
		u.owed = b.Time[i]
	}
}

// granted returns the QoS that the SUBACK of a subscribe granted. A library may not show
// it; then the wire does, and without packets none is known, which promises nothing.
func (s *sessions) granted(b *history.Batch, i int) uint8 {
	process := s.tables.Processes[b.Process[i]]
	switch {
	case !slices.Contains(process.Cannot, contract.CannotGrantedQoS):
		return b.Reason[i]
	case process.Protocol == contract.MQ9:
		return 2
	case s.wire.on:
		if g := s.wire.clients[b.Process[i]].grantedBefore(b.Index[i]); g != nil && g.qos <= 2 {
			return g.qos
		}
	}
	return 0
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

// until returns when a process was there last: when it left, or ended; never if it was never there.
func (p *session) until() int64 {
	if p.connected {
		return max(p.ended, p.last)
	}
	return p.left
}

// away returns the first time between two at which a process that is to be connected was
// not, or the second.
func (p *session) away(from, to int64) int64 {
	i := sort.Search(len(p.turns), func(i int) bool { return p.turns[i] >= from })
	connected := false
	if i > 0 {
		_, connected = slices.BinarySearch(p.connects, p.turns[i-1])
	}
	switch {
	case !connected && p.tried:
		return from
	case i < len(p.turns):
		return min(p.turns[i], to)
	}
	return to
}

// renewed reports whether a message was on its way to the broker when its producer got a
// new session. To the broker it is another message there (MQTT 3.1.1 section 4.4).
func (l *ledger) renewed(stream int32, seq int64) bool {
	m, producer := l.sends.find(stream, seq), l.tables.Streams[stream].Producer
	return m != nil && uint32(producer) < uint32(len(l.sessions.of)) && slices.ContainsFunc(l.sessions.of[producer].renewals, func(r renewal) bool {
		return m.called <= r.back && (m.outcome != history.OK || m.acked >= r.left)
	})
}

// revived reports whether PUBCOMP came in another session than PUBREC: it answers PUBREL,
// and acknowledges nothing. The message may have ended with the session of its producer.
// Without the packets nobody knows whether it came so.
func (l *ledger) revived(stream int32, seq int64) (is, known bool) {
	row := l.tables.Streams[stream]
	if row.QoS != 2 || !l.renewed(stream, seq) {
		return false, true
	}
	f := l.wire.from(stream, seq)
	known = f != nil && l.wire.heard(row.Producer)
	return known && f.revived, known
}

// persistent reports whether the process's session is to outlive connections.
func (s *sessions) persistent(process int32) bool {
	row := s.tables.Processes[process]
	return !row.Clean && (row.Protocol != contract.MQTT5 || row.ExpiryS > 0)
}

// due is the time from which on acknowledged messages on a topic must reach
// the process, or never. A server promises nothing for a filter while it is granted QoS 0.
func (s *sessions) due(process int32, topic string) int64 {
	from := int64(never)
	for _, u := range s.of[process].subscribed {
		if _, _, shared := history.CutShare(u.filter); !shared && history.Matches(u.filter, topic) {
			from = min(from, u.owed)
		}
	}
	return from
}

// owes reports whether a process was granted a filter for a topic with a QoS above 0, alone or in
// a shared group.
func (s *sessions) owes(process int32, topic string) bool {
	return slices.ContainsFunc(s.of[process].subscribed, func(u subscription) bool {
		_, filter, _ := history.CutShare(u.filter)
		return u.owed != never && history.Matches(filter, topic)
	})
}

// lowest returns the lowest QoS that a process was granted for a filter that takes a
// stream. Where it has none, that is the lowest that it was granted at all.
func (s *sessions) lowest(process, stream int32) uint8 {
	any := s.of[process].grant
	if any == 2 {
		return any
	}
	qos, found := uint8(2), false
	for _, u := range s.of[process].subscribed {
		if _, filter, _ := history.CutShare(u.filter); history.Matches(filter, s.tables.Streams[stream].Topic) {
			qos, found = min(qos, u.grant), true
		}
	}
	if !found {
		return any
	}
	return qos
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
