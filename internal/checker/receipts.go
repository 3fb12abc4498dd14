package checker

import "github.com/robustmq/rmq-mcp/internal/history"

// receipts is which messages reached which process: one bitmap for each pair
// of process and stream.
type receipts struct {
	route *route
	got   []bitmap
}

func newReceipts(l *ledger) receipts {
	return receipts{route: l.route, got: make([]bitmap, len(l.route.pairs))}
}

func (r *receipts) of(process, stream int32) *bitmap {
	if i := r.route.at(process, stream); i >= 0 {
		return &r.got[i]
	}
	return &bitmap{}
}

// deliveries calls f with every row of a batch that is a delivery with an
// identity, and with its pair of process and stream.
func deliveries(b *history.Batch, r *route, f func(i, pair int)) {
	process, stream := b.Process, b.Stream
	for i, k := range b.Kind[:b.N] {
		if k != history.KindDeliver {
			continue
		}
		if at := r.at(process[i], stream[i]); at >= 0 {
			f(i, at)
		}
	}
}
