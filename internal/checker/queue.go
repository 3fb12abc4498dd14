package checker

import "github.com/robustmq/rmq-mcp/internal/history"

// queues say how much of what a session was owed its broker had no room for: each
// keeps so many messages for a client that is away, or slow, and no more.
type queues struct {
	limit int64     // messages of one session; 0: none
	known bool      // it is this broker's, and not what many have
	taken [][]int32 // deliveries of QoS 1 and 2, by process and second
}

func newQueues(ctx Context) *queues {
	c := ctx.Run.Cluster
	return &queues{limit: int64(c.Queue), known: c.Lacks[history.LacksLimits] == "", taken: make([][]int32, len(ctx.Tables.Processes))}
}

func (q *queues) add(b *history.Batch, delivered []delivery) {
	if q.limit == 0 {
		return
	}
	for _, d := range delivered {
		if p := b.Process[d.i]; b.QoS[d.i] > 0 && uint32(p) < uint32(len(q.taken)) {
			q.taken[p] = counted(q.taken[p], b.Time[d.i])
		}
	}
}

// counted counts something in the second in which it happened.
func counted(seconds []int32, at int64) []int32 {
	i := at / 1e9
	if at < 0 || i >= maxBuckets/100 {
		return seconds
	}
	if missing := int(i) + 1 - len(seconds); missing > 0 {
		seconds = append(seconds, make([]int32, missing)...)
	}
	seconds[i]++
	return seconds
}

// over is how many messages of those that a process was owed found its queue full:
// what was acknowledged and not delivered yet, second by second, beyond the limit.
func (c *loss) over(process int32) (n int64) {
	q := c.ledger.queues
	if q.limit == 0 {
		return 0
	}
	var owed []int32
	c.pairs(func(p, s int32, from int64) {
		if p != process {
			return
		}
		st := &c.ledger.sends.streams[s]
		st.messages.each(func(_ int64, m *message) bool {
			if m.outcome == history.OK && m.called >= from {
				owed = counted(owed, m.acked)
			}
			return true
		})
	})
	taken, waiting := q.taken[process], int64(0)
	for i, came := range owed {
		waiting += int64(came)
		if i < len(taken) {
			waiting = max(0, waiting-int64(taken[i]))
		}
		if full := waiting - q.limit; full > 0 {
			n, waiting = n+full, q.limit
		}
	}
	return n
}

// rooms are the numbers of messages for which the broker had no room, by process,
// less those that were found missing already.
type rooms struct {
	of   *loss
	left map[int32]int64
}

// excuses reports whether a message that a process lacks is one of them.
func (r *rooms) excuses(process int32) bool {
	left, known := r.left[process]
	if !known {
		left = r.of.over(process)
	}
	r.left[process] = left - 1
	return left > 0
}
