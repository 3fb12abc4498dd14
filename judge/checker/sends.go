package checker

import (
	"sort"

	"github.com/robustmq/rmq-mcp/history"
)

// A message is one publish, from call to return.
type message struct {
	called, acked int64 // times of the call and of the return
	call, ret     rowRef
	conn          int32 // incarnation of the producer's connection at the call
	outcome       history.Outcome
	flags         uint8
	node          int16 // that the producer was connected to at the call
}

// A rowRef is the Index of a row plus one; 0 is none. Half the size matters here:
// there is a message for each that was published.
type rowRef int32

func refer(index int64) rowRef { return rowRef(index + 1) }

// index is the row's, or None.
func (r rowRef) index() int64 { return int64(r) - 1 }

// unknown reports whether the message was called and may have taken effect.
func (m *message) unknown() bool {
	return m.call != 0 && (m.outcome == history.OutcomeNone || m.outcome == history.Info)
}

const (
	msgEnd   = 1    // flag: the stream's end marker
	msgMove  = 2    // flag: its call and its return were on two connections, so it may have been sent again
	msgVague = 4    // flag: it was refused with an unspecified or implementation specific error (0x80, 0x83)
	maxHole  = 4096 // numbers that a stream may leave out at once
)

// sends holds the published messages: per stream, by sequence number.
type sends struct {
	streams []stream
	wrong   []string // numbers that a driver gave against the contract
}

type stream struct {
	messages messages
	acked    bitmap
	outcomes [4]int64 // returns by outcome
	calls    int64
}

func newSends(t *history.Tables) *sends {
	return &sends{streams: make([]stream, len(t.Streams))}
}

func (s *sends) add(b *history.Batch, published []int32) {
	for _, i := range published {
		at, seq := b.Stream[i], b.Seq[i]
		if uint32(at) >= uint32(len(s.streams)) || seq < 0 {
			continue
		}
		st := &s.streams[at]
		if b.Edge[i] == history.Call {
			if !st.call(b, int(i), seq) {
				s.mistake("stream", at, seq)
			}
		} else if b.Edge[i] == history.Return {
			st.ret(b, int(i), seq)
		}
	}
}

func (st *stream) call(b *history.Batch, i int, seq int64) bool {
	st.calls++
	if seq > st.messages.n+maxHole {
		return false
	}
	m := st.messages.reach(seq)
	if m.call != 0 {
		return false
	}
	m.call, m.called, m.conn, m.node = refer(b.Index[i]), b.Time[i], b.Conn[i], b.Node[i]
	if b.Flags[i].Has(history.FlagEnd) {
		m.flags |= msgEnd
	}
	return true
}

func (st *stream) ret(b *history.Batch, i int, seq int64) {
	m := st.messages.at(seq)
	if m == nil || m.ret != 0 {
		return
	}
	m.ret, m.acked, m.outcome = refer(b.Index[i]), b.Time[i], b.Outcome[i]
	if b.Conn[i] != m.conn {
		m.flags |= msgMove
	}
	if m.outcome == history.Fail && (b.Reason[i] == 0x80 || b.Reason[i] == 0x83) {
		m.flags |= msgVague
	}
	st.outcomes[m.outcome&3]++
	if m.outcome == history.OK {
		st.acked.add(seq)
	}
}

func (s *sends) mistake(what string, at int32, seq int64) {
	if len(s.wrong) < maxListed {
		s.wrong = append(s.wrong, sentence("%s %d: number %d was called twice or out of reach, so its driver does not count", what, at, seq))
	}
}

// find is the message, or nil if it was never called.
func (s *sends) find(at int32, seq int64) *message {
	if uint32(at) >= uint32(len(s.streams)) {
		return nil
	}
	if m := s.streams[at].messages.at(seq); m != nil && m.call != 0 {
		return m
	}
	return nil
}

// resuming is how long an SDK may take to send again the messages it kept from an
// earlier connection. A message called meanwhile may be sent at once, or wait in that
// queue: 12 overtakes 11.
const resuming = int64(1e9)

// before reports whether the broker had m before later, which was called after it. It
// had if m was acknowledged before later was called. It also had if m was acknowledged
// on the connection on which it was first sent, and did not wait there behind messages
// sent again. A message sent again on a new connection has no known place among those
// published there.
func (l *ledger) before(stream int32, m, later *message) bool {
	switch {
	case m.outcome != history.OK:
		return false
	case m.acked < later.called:
		return true
	case m.flags&msgMove != 0:
		return false
	case m.conn == 0:
		return true
	}
	p := l.tables.Streams[stream].Producer
	if uint32(p) >= uint32(len(l.sessions.of)) || int(m.conn) >= len(l.sessions.of[p].connects) {
		return false
	}
	return m.called >= l.sessions.of[p].connects[m.conn]+resuming
}

// answers reports whether the messages of a stream are published by the workload, for an
// acknowledgement each.
func (l *ledger) answers(s int32) bool {
	row := l.tables.Streams[s]
	return l.works(s) && row.QoS > 0 && !row.Will
}

// unanswered returns the first time between two at which somebody had asked the cluster for an
// acknowledgement, or the second. A publish asks from its call to its return, and a
// publisher while it is not connected.
func (l *ledger) unanswered(from, to int64) int64 {
	for s, row := range l.tables.Streams {
		if !l.answers(int32(s)) {
			continue
		}
		l.sends.streams[s].messages.each(func(_ int64, m *message) bool {
			if m.call != 0 && m.called < to && (m.ret == 0 || m.acked >= from) {
				to = max(from, m.called)
			}
			return m.called < to
		})
		if uint32(row.Producer) < uint32(len(l.sessions.of)) {
			to = l.sessions.of[row.Producer].away(from, to)
		}
	}
	return to
}

// since is the first number of the stream that was called at t or later: a
// producer calls the messages of one stream in order.
func (st *stream) since(t int64) int64 {
	return int64(sort.Search(int(st.messages.n), func(i int) bool {
		m := st.messages.at(int64(i))
		return m.call != 0 && m.called >= t
	}))
}

// end is the stream's end marker, or None.
func (st *stream) end() int64 {
	for seq := st.messages.n - 1; seq >= 0; seq-- {
		if st.messages.at(seq).flags&msgEnd != 0 {
			return seq
		}
	}
	return history.None
}
