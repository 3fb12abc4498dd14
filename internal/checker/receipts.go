package checker

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
