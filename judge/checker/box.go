package checker

import (
	"maps"

	"github.com/robustmq/rmq-mcp/history"
)

// A box is a mailbox, as those saw it who asked to make it.
type box struct {
	life  int64           // nanoseconds; 0 is for longer than any run
	first int64           // when somebody first asked to make it; never before
	made  int64           // when it was first known to be there; never before
	again int64           // when somebody asked who may have made it anew; never
	calls map[int64]int64 // requests under way: times by row
}

func newBox(life int64) box {
	return box{life: life, first: never, made: never, again: never, calls: map[int64]int64{}}
}

// mailboxOf is the mailbox that a filter names, whoever reads it.
func mailboxOf(filter string) string {
	_, mailbox, _ := history.CutShare(filter)
	return mailbox
}

// earliest is when it may be over; until then it is the first of its name.
func (x *box) earliest() int64 {
	if x.life == 0 {
		return never
	}
	return x.first + x.life - second
}

// ask takes the call of a request to make it.
func (x *box) ask(b *history.Batch, i int) {
	x.first = min(x.first, b.Time[i])
	x.calls[b.Index[i]] = b.Time[i]
}

// answer takes the return of a request, if it is one of its.
func (x *box) answer(b *history.Batch, i int) {
	called, ok := x.calls[b.Call[i]]
	if !ok {
		return
	}
	if b.Outcome[i] == history.OK {
		x.made = min(x.made, b.Time[i])
	}
	if b.Outcome[i] != history.Info && b.Time[i] < x.earliest() {
		delete(x.calls, b.Call[i]) // done while the first was there: it made no other
	} else {
		x.again = min(x.again, max(called, x.earliest()))
	}
}

// settle counts in the requests that were never answered, once no more rows come.
func (x *box) settle() {
	for _, called := range x.calls {
		x.again = min(x.again, max(called, x.earliest()))
	}
}

func (x *box) fork() box {
	twin := *x
	twin.calls = maps.Clone(x.calls)
	return twin
}
