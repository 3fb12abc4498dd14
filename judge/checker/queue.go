package checker

import (
	"slices"
	"sort"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// queues tells when a broker had no room for a message: a broker keeps a limited number
// of messages of QoS 1 and 2 for a client that is away or slow. Only messages that came
// in the end have waited in a queue; a lost one was in none.
type queues struct {
	limit  int64     // messages of one session; 0: none. Where it is not known, as few as it may be.
	known  bool      // it is this broker's, and not what some have
	newest bool      // the broker drops the newest message; otherwise it may drop the oldest
	got    []bitmap  // by pair
	taken  [][]int32 // first deliveries of QoS 1 and 2, by process and slot
}

// fewestKept is how many messages a broker of which nothing is known may keep for a
// session. Many keep 1000, mosquitto 1 kept 100, and Azure IoT Hub keeps 50.
const fewestKept = 50

// slot is the time in which a queue may fill and empty unseen.
const slot = int64(100e6)

func newQueues(ctx Context, r *route) *queues {
	c := ctx.Run.Cluster
	ours := c.Lacks[history.LacksLimits] == "" && c.Queue != history.UnknownQueue
	q := &queues{limit: int64(c.Queue), known: ours || c.QueueTold, newest: ours}
	if !q.known && (q.limit <= 0 || q.limit > fewestKept) {
		q.limit = fewestKept
	}
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

// counted counts something in the slot in which it happened.
func counted(slots []int32, at int64) []int32 {
	i := at / slot
	if at < 0 || i >= maxBuckets*bucket/slot {
		return slots
	}
	if missing := int(i) + 1 - len(slots); missing > 0 {
		slots = append(slots, make([]int32, missing)...)
	}
	slots[i]++
	return slots
}

// full returns for each slot whether a process's queue may have been at the limit; from
// the last on nothing changes. A message counts from its call on, and until the end of
// the slot after its delivery: its acknowledgement makes room. A broker of somebody else
// may drop the oldest message in place of the newest. For such a broker a full
// slot makes the slots before it count as full too, back to the last empty queue. There
// what came and went within a slot does not count: at a high rate it would excuse every
// loss.
func (l *ledger) full(process int32) []bool {
	q := l.queues
	came, taken := l.waited(process), q.taken[process]
	full, began, filled := make([]bool, max(len(came), len(taken)+2)), 0, 0
	var waiting, before int64 // at the end of a slot; taken in the slot before
	for i := range full {
		now := nth(taken, i)
		if waiting = max(0, waiting+nth(came, i)-now); waiting == 0 && now > 0 {
			began = i
		}
		full[i] = waiting >= q.limit || q.known && waiting+now+before >= q.limit
		before = now
		if full[i] && !q.newest {
			for ; filled < i; filled++ {
				full[filled] = full[filled] || filled >= began
			}
		}
	}
	return full
}

// nth is what was counted in a slot.
func nth(slots []int32, i int) int64 {
	if i < len(slots) {
		return int64(slots[i])
	}
	return 0
}

// waited counts the messages that came to a process, in the slots in which a broker may
// have had them first.
func (l *ledger) waited(process int32) (came []int32) {
	for s := range l.tables.Streams {
		i := l.route.at(process, int32(s))
		if i < 0 || l.route.pairs[i].sent == 0 || l.tables.Streams[s].Will {
			continue
		}
		l.sends.streams[s].messages.each(func(seq int64, m *message) bool {
			if l.queues.got[i].has(seq) {
				came = counted(came, m.called)
			}
			return true
		})
	}
	for _, q := range l.wills.all {
		if i := l.route.at(process, q.stream); i >= 0 && l.route.pairs[i].sent > 0 && q.leave != history.None && l.queues.got[i].has(q.seq) {
			came = counted(came, q.ended)
		}
	}
	return came
}

// rooms remember when the queues of processes were full, and what was kept in them.
type rooms struct {
	ledger  *ledger
	of      map[int32][]bool
	away    map[[2]int32]backlog // by process and stream
	offline map[int32]offline
	most    map[string]int64 // by group
}

func newRooms(l *ledger) *rooms {
	return &rooms{l, map[int32][]bool{}, map[[2]int32]backlog{}, map[int32]offline{}, map[string]int64{}}
}

// lacked reports whether a broker may have had no room for a message to a process, which alone
// was to have it.
func (r *rooms) lacked(process, stream int32, seq int64, alone bool) bool {
	m := r.ledger.sends.streams[stream].messages.at(seq)
	return !r.had(process, stream, seq) && (r.full(process, m.called, m.acked) || alone && r.filled(process, m)) && !r.passedOver(process, stream, m)
}

// A leave is a time without a connection of a client.
type leave struct {
	from, to  int64
	disturbed bool // by a fault: messages may have waited on a dead connection, and not in the queue
}

// leaves returns the leaves of a process, in order. Each ends early by some time: the broker may
// have let the client in already.
func (l *ledger) leaves(process int32, early int64) (all []leave) {
	of, windows := &l.sessions.of[process], l.windowsOf(process)
	for i, t := range of.turns {
		if _, came := slices.BinarySearch(of.connects, t); came || i+1 == len(of.turns) {
			continue
		}
		a := leave{from: t, to: of.turns[i+1] - early}
		a.disturbed = overlap(windows, a.from-int64(history.Noticing), a.to)
		all = append(all, a)
	}
	return all
}

// during returns the index of the leave in which a message was published, -1 for none.
func during(all []leave, m *message) int {
	i := sort.Search(len(all), func(k int) bool { return all[k].to >= m.acked })
	if i == len(all) || all[i].from > m.called {
		return -1
	}
	return i
}

// kept visits the messages of a stream that were acknowledged while a process was away, and came.
func (l *ledger) kept(process, stream int32, all []leave, visit func(leave int, m *message)) {
	i := l.route.at(process, stream)
	if len(all) == 0 || i < 0 || l.route.pairs[i].sent == 0 {
		return
	}
	l.sends.streams[stream].messages.each(func(seq int64, m *message) bool {
		if m.unknown() || !l.queues.got[i].has(seq) {
			return true
		}
		if at := during(all, m); at >= 0 {
			visit(at, m)
		}
		return true
	})
}

// An offline is the leaves of a client, and the number of messages kept in each.
type offline struct {
	leaves []leave
	kept   []int64
}

// filled reports whether a message came for a client that was away, and the messages kept for it
// may have filled its queue: a limit in bytes may be reached by any number of messages. A broker
// that kept none at all had room. So had a broker with many more for another client of the group,
// as its subscriptions are the same.
func (r *rooms) filled(process int32, m *message) bool {
	l := r.ledger
	if l.queues.known || l.tables.Processes[process].Protocol == contract.MQ9 {
		return false
	}
	away := r.offlineOf(process)
	i := during(away.leaves, m)
	return i >= 0 && away.kept[i] > 0 && 5*away.kept[i] >= 4*r.mostOf(l.tables.Processes[process].Group)
}

// mostOf returns how many messages were kept at most for a client of a group that was away.
func (r *rooms) mostOf(group string) (most int64) {
	if most, known := r.most[group]; known {
		return most
	}
	for p, row := range r.ledger.tables.Processes {
		if row.Group != group {
			continue
		}
		away := r.offlineOf(int32(p))
		for i, a := range away.leaves {
			if !a.disturbed {
				most = max(most, away.kept[i])
			}
		}
	}
	r.most[group] = most
	return most
}

// offlineOf returns what was kept for a process.
func (r *rooms) offlineOf(process int32) offline {
	away, known := r.offline[process]
	if known {
		return away
	}
	away.leaves = r.ledger.leaves(process, 0)
	away.kept = make([]int64, len(away.leaves))
	for s := range r.ledger.sends.streams {
		r.ledger.kept(process, int32(s), away.leaves, func(i int, _ *message) { away.kept[i]++ })
	}
	r.offline[process] = away
	return away
}

// A backlog is the messages of one stream that a broker kept while a client was away.
type backlog struct {
	leaves      []leave
	first, last []int64 // by leave: when one was acknowledged first, and when one was called last
}

// passedOver reports whether a broker of somebody else kept an older message and a
// newer one of a stream for a client that was away, and not this one. No limit does that:
// all later messages are missing too where the newest are dropped, and all earlier ones
// where the oldest are. No fault may have disturbed the absence: messages on their way to
// a dead connection wait in no queue, and a cluster that was cut apart changes their order.
func (r *rooms) passedOver(process, stream int32, m *message) bool {
	if r.ledger.queues.newest {
		return false
	}
	at := [2]int32{process, stream}
	kept, known := r.away[at]
	if !known {
		kept = r.ledger.backlogOf(process, stream)
		r.away[at] = kept
	}
	i := during(kept.leaves, m)
	return i >= 0 && kept.first[i] < m.called-second && kept.last[i] > m.acked+second
}

// backlogOf returns what was kept of a stream for a process in each absence that no fault
// disturbed.
func (l *ledger) backlogOf(process, stream int32) (b backlog) {
	b.leaves = slices.DeleteFunc(l.leaves(process, int64(history.Settling)), func(a leave) bool { return a.disturbed })
	b.first, b.last = slices.Repeat([]int64{never}, len(b.leaves)), make([]int64, len(b.leaves))
	l.kept(process, stream, b.leaves, func(i int, m *message) {
		b.first[i], b.last[i] = min(b.first[i], m.acked), max(b.last[i], m.called)
	})
	return b
}

// lackedBy reports whether a broker may have had no room for a message to the member of a
// group that it chose. It could choose a member that is there.
func (r *rooms) lackedBy(members []int32, stream int32, seq int64) bool {
	return !slices.ContainsFunc(members, func(p int32) bool { return r.had(p, stream, seq) }) &&
		slices.ContainsFunc(members, func(p int32) bool { return r.lacked(p, stream, seq, len(members) == 1) })
}

// lackedWill reports whether a broker may have had no room for a will to a process. It
// may publish it long after the connection's end, which it has to notice first.
func (r *rooms) lackedWill(process int32, q *bequest) bool {
	return !r.had(process, q.stream, q.seq) && r.full(process, q.ended, never)
}

// had reports whether a message came. There was room for it then, so a canary that drops it
// must turn red.
func (r *rooms) had(process, stream int32, seq int64) bool {
	i := r.ledger.route.at(process, stream)
	return i < 0 || r.ledger.queues.limit > 0 && r.ledger.queues.got[i].has(seq)
}

// full reports whether a process's queue may have been full at any time between two.
func (r *rooms) full(process int32, from, to int64) bool {
	l := r.ledger
	if l.queues.limit == 0 || l.tables.Processes[process].Protocol == contract.MQ9 {
		return false
	}
	full, known := r.of[process]
	if !known {
		full = l.full(process)
		r.of[process] = full
	}
	last := int64(len(full) - 1)
	return from >= 0 && slices.Contains(full[min(from/slot, last):min(to/slot, last)+1], true)
}

// reason returns why a message did not come for which the broker may have had no room.
func (q *queues) reason() reason {
	if q.known {
		return full
	}
	return maybeFull
}
