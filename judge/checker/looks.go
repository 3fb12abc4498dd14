package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// A look is one fetch of a process from a mailbox.
type look struct {
	mailbox          string
	called, returned int64 // times; returned is 0 before
	outcome          history.Outcome
	size             int64 // messages in the answer
	took             int64 // of them, delivered
	gone             bool  // there was no such mailbox
}

// maxLook is how many messages a driver asks for at once. An answer with as
// many may have left some out.
const maxLook = 50

// whole reports whether all that the mailbox had was in the answer, and
// reached the application.
func (k look) whole() bool {
	return k.outcome == history.OK && k.size < maxLook && k.took == k.size
}

// looks follows what each process fetches from mailboxes.
type looks struct {
	of  [][]look // by process
	all bool     // else only the last of each is kept
}

// fetches reports whether anybody in a history fetches from mailboxes.
func fetches(t *history.Tables) bool {
	return slices.ContainsFunc(t.Processes, func(p history.Process) bool { return p.Protocol == contract.MQ9 })
}

func newLooks(t *history.Tables, all bool) *looks {
	return &looks{make([][]look, len(t.Processes)), all}
}

// row takes a row. For a delivery it returns the look that it answers, nil where that
// cannot be told.
func (k *looks) row(b *history.Batch, i int) *look {
	p := b.Process[i]
	if uint32(p) >= uint32(len(k.of)) {
		return nil
	}
	var last *look
	if n := len(k.of[p]); n > 0 {
		last = &k.of[p][n-1]
	}
	switch {
	case b.Kind[i] == history.KindFetch && b.Edge[i] == history.Call:
		if !k.all {
			k.of[p] = k.of[p][:0]
		}
		k.of[p] = append(k.of[p], look{mailbox: b.Text(i), called: b.Time[i]})
	case last == nil:
	case b.Kind[i] == history.KindFetch && b.Edge[i] == history.Return:
		last.returned, last.outcome, last.size = b.Time[i], b.Outcome[i], max(b.ID[i], 0)
		last.gone = b.Outcome[i] == history.Fail && gone(b.Text(i))
	case b.Kind[i] == history.KindDeliver && last.outcome == history.OK:
		last.took++
		return last
	}
	return nil
}

// strays returns the rows of a batch that deliver a message in the answer of another mailbox.
func (k *looks) strays(l *ledger, b *history.Batch) (rows []int32) {
	for i := range b.N {
		at, s := k.row(b, i), b.Stream[i]
		if at != nil && at.took <= at.size && l.works(s) && l.requests(s) && l.topic(s) != at.mailbox {
			rows = append(rows, int32(i))
		}
	}
	return rows
}

func (k *looks) fork() *looks {
	return &looks{forks(k.of, func(list []look) []look { return append([]look(nil), list...) }), k.all}
}
