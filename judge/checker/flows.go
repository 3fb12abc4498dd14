package checker

import "github.com/robustmq/rmq-mcp/history"

// A flow is one message on its way from one side to the other.
type flow struct {
	first, acked int32 // rows: of the first PUBLISH, of the first acknowledgement that ended an exchange; -1 for none
	taken, freed int32 // rows of the first PUBREC, of the first PUBREL
	conn         int32 // of the last PUBLISH, or of a PUBREL on a later connection
	session      uint16
	id           uint16
	n            uint8 // PUBLISHes
	begun        uint8 // exchanges: PUBLISHes that are no repetition of one still open
	renewed      uint8 // of them, begun in another session than the one before
	bare         uint8 // PUBLISHes after the first, in one session, without DUP
	qos          uint8 // of the last PUBLISH
	sentAs       uint8 // each QoS that a PUBLISH had, as a bit
	state        flowState
	again        bool     // the first PUBLISH had DUP: what it repeats did not come so far
	renamed      bool     // a PUBLISH was under another topic than its stream's
	retained     bool     // a PUBLISH had RETAIN
	late         lateness // of the broker's last step to hand it to a subscriber (stalls notes it)
	idle         bool     // that step was late, and the broker had waited for nothing of the client's (stalls)
	revived      bool     // that acknowledgement was in a later session, of which the message was none
	shared       bool     // another message had its packet id at the same time (the dialogue notes it)
}

type flowState uint8

const (
	published flowState = iota
	received            // PUBREC
	released            // PUBREL
	done                // PUBACK or PUBCOMP
)

// A lateness is a step that the broker took long after the message was acknowledged.
type lateness uint8

const (
	inTime       lateness = iota
	sentLate              // PUBLISH
	resentLate            // PUBLISH, on a later connection
	releasedLate          // PUBREL
)

func (l lateness) String() string {
	return [...]string{"nothing", "it", "it again", "its PUBREL"}[l]
}

func (f *flow) publish(p *packet, session uint16) {
	switch {
	case f.n == 0:
		f.first, f.begun, f.state, f.again = int32(p.row), 1, published, p.flags.Has(history.FlagDup)
	case session != f.session:
		f.begun, f.renewed, f.state = more(f.begun), more(f.renewed), published
	case uint16(p.id) != f.id || f.state >= released:
		f.begun, f.state = more(f.begun), published
	}
	if f.n > 0 && session == f.session && !p.flags.Has(history.FlagDup) {
		f.bare = more(f.bare)
	}
	f.renamed, f.retained = f.renamed || p.flags.Has(history.FlagRenamed), f.retained || p.flags.Has(history.FlagRetain)
	f.n, f.session, f.conn, f.id, f.qos = more(f.n), session, p.conn, uint16(p.id), p.qos
	f.sentAs |= 1 << p.qos
}

// sentWith reports whether any PUBLISH of the message had a QoS.
func (f *flow) sentWith(qos uint8) bool { return f.sentAs&(1<<qos) != 0 }

// requalified reports whether the message was sent with several QoS.
func (f *flow) requalified() bool { return f.sentAs&(f.sentAs-1) != 0 }

func (f *flow) release(p *packet) {
	if f.freed < 0 {
		f.freed = int32(p.row)
	}
	f.conn = max(f.conn, p.conn)
	if f.state != done {
		f.state = released
	}
}

func (f *flow) answer(p *packet, session uint16) {
	switch {
	case f.n == 0:
	case p.kind == pubrecPacket && !p.refused():
		f.state = max(f.state, received)
		if f.taken < 0 {
			f.taken = int32(p.row)
		}
	default:
		f.state = done
		accepted := p.kind == pubcompPacket && f.taken >= 0 // by PUBREC; PUBCOMP refuses no more than the packet id
		if f.acked < 0 && (accepted || !p.refused()) {
			f.acked, f.revived = int32(p.row), session != f.session
		}
	}
}

// more counts up to what a byte holds.
func more(n uint8) uint8 { return n + min(1, 255-n) }

// anew returns how many exchanges the sender began for the message. It does not count
// the exchanges in a new session, where the sender may have had to.
func (f *flow) anew() int { return int(f.begun) - int(f.renewed) }

// answered reports whether the receiver owes no further packet now.
func (f *flow) answered() bool {
	return f.qos == 0 || f.state == done || f.qos == 2 && f.state == received
}

// flows are the messages of one stream by number, in chunks that are made as
// they are needed, and those few with a number far out.
type flows struct {
	chunks []*[chunk]flow
	out    map[int64]*flow
}

// maxOut is the number of flows with numbers far out that are kept.
const maxOut = 1 << 12

func noFlow() flow {
	return flow{first: history.None, acked: history.None, taken: history.None, freed: history.None}
}

// outside returns the flow of a number far out, or nil where there are too many.
func (f *flows) outside(seq int64) *flow {
	if f.out[seq] == nil && len(f.out) < maxOut {
		if f.out == nil {
			f.out = map[int64]*flow{}
		}
		made := noFlow()
		f.out[seq] = &made
	}
	return f.out[seq]
}

// reach returns the flow of a number, or nil.
func (f *flows) reach(seq int64) *flow {
	at := seq / chunk
	if seq < 0 {
		return nil
	}
	if at > int64(len(f.chunks))+far/chunk {
		return f.outside(seq)
	}
	for int64(len(f.chunks)) <= at {
		f.chunks = append(f.chunks, nil)
	}
	if f.chunks[at] == nil {
		c := new([chunk]flow)
		for i := range c {
			c[i] = noFlow()
		}
		f.chunks[at] = c
	}
	return &f.chunks[at][seq%chunk]
}

// seen is the flow of a number that was published, or nil.
func (f *flows) seen(seq int64) *flow {
	at := seq / chunk
	if seq < 0 || at >= int64(len(f.chunks)) || f.chunks[at] == nil || f.chunks[at][seq%chunk].n == 0 {
		if at := f.out[seq]; at != nil && at.n > 0 {
			return at
		}
		return nil
	}
	return &f.chunks[at][seq%chunk]
}

// each goes through the messages that were published, but those far out: what
// applications had does not tell them.
func (f *flows) each(do func(seq int64, f *flow)) {
	for at, c := range f.chunks {
		if c == nil {
			continue
		}
		for i := range c {
			if c[i].n > 0 {
				do(int64(at)*chunk+int64(i), &c[i])
			}
		}
	}
}
