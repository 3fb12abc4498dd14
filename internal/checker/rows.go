package checker

import "github.com/robustmq/rmq-mcp/internal/history"

// rows sorts the rows of one batch by what they are, so that each of many
// folds touches only its own.
type rows struct {
	delivered []delivery
	published []int32 // calls and returns
	control   []int32 // all else
}

// A delivery is a row and its pair of process and stream, or -1 where the
// payload says neither.
type delivery struct{ i, pair int32 }

func (r *rows) sort(b *history.Batch, to *route) {
	r.delivered, r.published, r.control = r.delivered[:0], r.published[:0], r.control[:0]
	for i, k := range b.Kind[:b.N] {
		switch k {
		case history.KindDeliver:
			r.delivered = append(r.delivered, delivery{int32(i), int32(to.at(b.Process[i], b.Stream[i]))})
		case history.KindPublish:
			r.published = append(r.published, int32(i))
		default:
			r.control = append(r.control, int32(i))
		}
	}
}

// rows answers the sorted rows of a batch. Those of the batch that the ledger
// took last are known; a canary's batch, which is another one where it was
// mutated, is sorted when asked for.
func (l *ledger) rows(b *history.Batch) *rows {
	if b == l.current {
		return &l.sorted
	}
	l.mutated.sort(b, l.route)
	return &l.mutated
}
