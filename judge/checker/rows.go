package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// rows sorts the rows of one batch by what they are, so that each of many
// folds touches only its own.
type rows struct {
	delivered []delivery
	published []int32  // calls and returns
	packets   []packet // of the wire
	told      []int32
	control   []int32 // all else
	probed    bool    // some row is a probe's
	called    []int32 // by process: the connection of its last CONNECT
}

// A delivery is a row, with what nearly every fold asks of it.
type delivery struct {
	i     int32
	pair  int32 // of process and stream, or -1 where the payload does not say
	seq   int64
	flags history.Flags
}

func (r *rows) sort(b *history.Batch, to *route) {
	r.delivered, r.published, r.packets, r.told, r.control, r.probed = r.delivered[:0], r.published[:0], r.packets[:0], r.told[:0], r.control[:0], false
	last := int32(history.None)
	for i, k := range b.Kind[:b.N] {
		p := b.Process[i]
		if p != last { // one client's rows often follow one another
			r.probed, last = r.probed || to.probed(p), p
		}
		switch k {
		case history.KindDeliver:
			r.delivered = append(r.delivered, delivery{int32(i), int32(to.at(p, b.Stream[i])), b.Seq[i], b.Flags[i]})
		case history.KindPublish:
			r.published = append(r.published, int32(i))
		case history.KindPacket:
			if len(r.packets) == cap(r.packets) {
				r.packets = slices.Grow(r.packets, b.N-i)
			}
			r.packets = r.packets[:len(r.packets)+1]
			r.packets[len(r.packets)-1].read(b, i)
			r.place(&r.packets[len(r.packets)-1])
		case history.KindTold:
			r.told = append(r.told, int32(i))
		default:
			r.control = append(r.control, int32(i))
		}
	}
}

// place finds CONNACKs and SUBACKs that come late: their client has sent CONNECT on another
// connection since. They tell nothing of that connection, so no fold takes them for an answer.
func (r *rows) place(p *packet) {
	switch {
	case uint32(p.process) >= uint32(len(r.called)):
	case p.kind == connectPacket:
		r.called[p.process] = max(r.called[p.process], p.conn)
	case p.toClient && p.conn < r.called[p.process] && (p.kind == connackPacket || p.kind == subackPacket):
		p.kind = otherPacket
	}
}

// rows returns the sorted rows of a batch. Those of the batch that the ledger
// took last are known; a canary's batch, which is another one where it was
// mutated, is sorted the first time it is asked for.
func (l *ledger) rows(b *history.Batch) *rows {
	switch b {
	case l.current:
		return &l.sorted
	case l.mutated:
	default:
		l.mutated = b
		l.resorted.called = append(l.resorted.called[:0], l.called...)
		l.resorted.sort(b, l.route)
	}
	return &l.resorted
}
