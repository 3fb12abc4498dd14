package checker

import (
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// queues tells when a broker had no room for a message: a broker keeps a limited number
// of messages of QoS 1 and 2 for a client that is away or slow. Only messages that came
// in the end have waited in a queue; a lost one was in none.
type queues struct {
	limit int64     // messages of one session; 0: none
	known bool      // it is this broker's, and not what many have
	got   []bitmap  // by pair
	taken [][]int32 // first deliveries of QoS 1 and 2, by process and second
}

func newQueues(ctx Context, r *route) *queues {
	c := ctx.Run.Cluster
	q := &queues{limit: int64(c.Queue), known: c.Lacks[history.LacksLimits] == ""}
	if q.limit > 0 {
		q.got, q.taken = make([]bitmap, len(r.pairs)), make([][]int32, len(ctx.Tables.Processes))
	}
	return q
}

func (q *queues) add(b *history.Batch, r *route, delivered []delivery) {
	if q.limit == 0 {
		return
	}
	for _, d := range delivered {
		if d.pair >= 0 && r.pairs[d.pair].sent > 0 && q.got[d.pair].add(d.seq) {
			q.taken[b.Process[d.i]] = counted(q.taken[b.Process[d.i]], b.Time[d.i])
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

// full returns for each second whether a process's queue was at the limit. A broker
// whose limit is not known may drop the oldest message in place of the newest. For such
// a broker a full second makes the seconds before it count as full too, back to the
// last empty queue.
func (l *ledger) full(process int32) []bool {
	q, waiting := l.queues, int64(0)
	if q.limit == 0 || l.tables.Processes[process].Protocol == contract.MQ9 {
		return nil
	}
	var came []int32
	for s := range l.tables.Streams {
		i := l.route.at(process, int32(s))
		if i < 0 || l.route.pairs[i].sent == 0 {
			continue
		}
		l.sends.streams[s].messages.each(func(seq int64, m *message) bool {
			if q.got[i].has(seq) {
				came = counted(came, max(m.called, m.acked))
			}
			return true
		})
	}
	full, began := make([]bool, len(came)), 0
	for i := range came {
		if waiting == 0 {
			began = i
		}
		before := waiting
		waiting += int64(came[i])
		if taken := q.taken[process]; i < len(taken) {
			waiting = max(0, waiting-int64(taken[i]))
		}
		full[i] = before >= q.limit || waiting >= q.limit
		if full[i] && !q.known {
			for j := began; j < i; j++ {
				full[j] = true
			}
		}
	}
	return full
}

// rooms remember when the queues of processes were full.
type rooms struct {
	ledger *ledger
	full   map[int32][]bool
}

// lacked reports whether a broker had no room for a message to a process. It had room
// for every message that came: a canary that drops such a message must turn red.
func (r *rooms) lacked(process, stream int32, seq int64) bool {
	l := r.ledger
	if i := l.route.at(process, stream); l.queues.limit == 0 || i < 0 || l.queues.got[i].has(seq) {
		return false
	}
	full, known := r.full[process]
	if !known {
		full = l.full(process)
		r.full[process] = full
	}
	at := l.sends.streams[stream].messages.at(seq).acked / 1e9
	return at >= 0 && at < int64(len(full)) && full[at]
}
