package checker

import "github.com/robustmq/rmq-mcp/history"

// receipts holds the messages that reached each process. All checkers share one, to
// which the judge adds. The canary of each checker has its own.
type receipts struct {
	ledger *ledger
	own    bool // a canary's
	of     []receipt
}

// A receipt holds the messages of one stream that reached one process.
type receipt struct {
	got   bitmap
	seen  int64 // deliveries
	again int64 // of them, not the first of their message
	dup   int64 // of those, flagged as such
}

func newReceipts(l *ledger) *receipts {
	return &receipts{ledger: l, of: make([]receipt, len(l.route.pairs))}
}

// addOwn takes a batch for a checker that shares its receipts with nobody.
func (r *receipts) addOwn(b *history.Batch) {
	if r.own {
		r.add(b)
	}
}

func (r *receipts) add(b *history.Batch) {
	for _, d := range r.ledger.rows(b).delivered {
		if d.pair < 0 {
			continue
		}
		to := &r.of[d.pair]
		to.seen++
		if !to.got.add(d.seq) && !d.flags.Has(history.FlagRetain) {
			to.again++
			if d.flags.Has(history.FlagDup) {
				to.dup++
			}
		}
	}
}

func (r *receipts) fork() *receipts {
	return &receipts{ledger: r.ledger, own: true, of: forks(r.of, receipt.fork)}
}

func (r receipt) fork() receipt {
	r.got = r.got.fork()
	return r
}

// got is which messages of a stream reached a process.
func (r *receipts) got(process, stream int32) *bitmap {
	if i := r.ledger.route.at(process, stream); i >= 0 {
		return &r.of[i].got
	}
	return &bitmap{}
}

// tally adds up the receipts of streams of a QoS.
func (r *receipts) tally(minQoS, maxQoS uint8) (sum receipt) {
	for i, q := range r.ledger.route.pairs {
		if q.sent >= minQoS && q.sent <= maxQoS && r.ledger.works(int32(i%r.ledger.route.streams)) {
			sum.seen += r.of[i].seen
			sum.again += r.of[i].again
			sum.dup += r.of[i].dup
		}
	}
	return sum
}
