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
	limit  int64      // messages of one session; 0: none. Where it is not known, as few as it may be.
	window int64      // messages on their way to a client that the limit may count; never: not known
	known  bool       // the limit is this broker's, and not what some have
	newest bool       // the broker drops the newest message; otherwise it may drop the oldest
	got    []bitmap   // by pair
	taken  [][]uint32 // milliseconds of first deliveries of QoS 1 and 2, by process
}

// fewestKept is how many messages a broker of which nothing is known may keep for a
// session. Many keep 1000, mosquitto 1 kept 100, and Azure IoT Hub keeps 50.
const fewestKept = 50

// slot is the step of time in which queues are looked at.
const slot = int64(100e6)

// millisecond is one in nanoseconds.
const millisecond = int64(1e6)

// answering is the time in which a client's acknowledgement reaches the broker.
const answering = 2 * slot

func newQueues(ctx Context, r *route) *queues {
	c := ctx.Run.Cluster
	counted := c.Queue != history.UnknownQueue
	ours := counted && c.Lacks[history.LacksLimits] == ""
	q := &queues{limit: int64(c.Queue), window: never, known: ours || counted && c.QueueTold, newest: ours && !c.QueueTold}
	if c.InFlight > 0 {
		q.window = int64(c.InFlight)
	}
	if !q.known && (q.limit <= 0 || q.limit > fewestKept) {
		q.limit = fewestKept
	}
	if q.limit > 0 {
		q.got, q.taken = make([]bitmap, len(r.pairs)), make([][]uint32, len(ctx.Tables.Processes))
	}
	return q
}

func (q *queues) add(b *history.Batch, r *route, delivered []delivery) {
	if q.limit == 0 {
		return
	}
	for _, d := range delivered {
		if d.pair >= 0 && r.pairs[d.pair].sent > 0 && q.got[d.pair].add(d.seq) {
			q.taken[b.Process[d.i]] = append(q.taken[b.Process[d.i]], uint32(b.Time[d.i]/millisecond+1))
		}
	}
}

// A filling is what waits in the queue of a process as time passes.
type filling struct {
	came, taken []int64          // times at which messages came to the queue, and to the client
	away        []leave          // of the client
	faults      []history.Window // that may keep its acknowledgements from the broker
	// How many came and were taken, and of how many the broker has the acknowledgement; leaves that
	// are over.
	c, t, answered, gone int
}

func (l *ledger) filling(process int32) *filling {
	f := &filling{came: l.waited(process), away: l.leaves(process, 0), faults: l.windowsOf(process)}
	for _, ms := range l.queues.taken[process] {
		f.taken = append(f.taken, int64(ms)*millisecond)
	}
	slices.Sort(f.taken)
	return f
}

// at moves on to a time. It returns how many messages have not come to the client, and how many of
// the others it may not have acknowledged. An absent client acknowledges nothing. A fault may keep an
// acknowledgement from the broker.
func (f *filling) at(now int64) (waiting, unanswered int64) {
	heard := now
	for ; f.gone < len(f.away) && f.away[f.gone].to+answering <= now; f.gone++ {
	}
	if f.gone < len(f.away) {
		heard = min(now, f.away[f.gone].from)
	}
	for _, w := range f.faults {
		if int64(w.Start) <= heard && now < int64(w.End)+answering {
			heard = int64(w.Start)
		}
	}
	f.c, f.t, f.answered = passed(f.came, f.c, now+1), passed(f.taken, f.t, now), passed(f.taken, f.answered, heard-answering)
	return int64(f.c - f.t), int64(f.t - f.answered)
}

// passed moves an index of times on to the first that is not before a time.
func passed(times []int64, i int, before int64) int {
	for i < len(times) && times[i] < before {
		i++
	}
	return i
}

// slots is the number of slots after which nothing changes.
func (f *filling) slots() int64 {
	last := int64(0)
	for _, times := range [][]int64{f.came, f.taken} {
		if n := len(times); n > 0 {
			last = max(last, times[n-1])
		}
	}
	return min(last+answering, maxBuckets*bucket)/slot + 2
}

// room returns why a queue has no room: full, unconfirmed, maybeFull, or none.
func (q *queues) room(f *filling, now int64) reason {
	waiting, unanswered := f.at(now)
	most := unanswered // counted by the limit, besides those that wait
	if q.window != never {
		unanswered, most = min(unanswered, q.window), min(int64(f.t), q.window)
	}
	switch {
	case !q.known && waiting >= q.limit:
		return maybeFull
	case !q.known || waiting+most < q.limit:
		return none
	case waiting >= q.limit, q.window != never && waiting+unanswered >= q.limit:
		return full
	}
	return unconfirmed
}

// lacks returns for each slot why a process's queue may have had no room; from the last on nothing
// changes. A message waits from its call to its delivery. Brokers may count it until its
// acknowledgement, but no more such messages than their window has. A broker of somebody else may
// drop the oldest message in place of the newest. For such a broker a full slot makes the slots
// before it count as full too, back to the last empty queue. If its limit is not known, what came
// and went within a slot does not count: at a high rate it would excuse every loss.
func (l *ledger) lacks(process int32) []reason {
	q, f := l.queues, l.filling(process)
	all, now, began, filled, as := make([]reason, f.slots()), none, 0, 0, none
	for i := range all {
		end, taken := int64(i+1)*slot, f.t
		if q.known {
			all[i] = now
			for f.c < len(f.came) && f.came[f.c] < end {
				all[i] = surest(all[i], q.room(f, f.came[f.c]))
			}
		}
		if now = q.room(f, end); f.c <= f.t && f.t > taken {
			began, as = i, none
		}
		if all[i] = surest(all[i], now); all[i] == none || q.newest {
			continue
		}
		if surest(as, all[i]) != as {
			filled, as = began, all[i]
		}
		for filled = max(filled, began); filled < i; filled++ {
			all[filled] = surest(all[filled], as)
		}
	}
	return all
}

// surest returns the reason of two that leaves less unknown.
func surest(a, b reason) reason {
	if a == none || b == none {
		return max(a, b)
	}
	return min(a, b)
}

// waited returns the times at which a broker may have had the messages first that came to a
// process, in order.
func (l *ledger) waited(process int32) (came []int64) {
	for s := range l.tables.Streams {
		i := l.route.at(process, int32(s))
		if i < 0 || l.route.pairs[i].sent == 0 || l.tables.Streams[s].Will {
			continue
		}
		l.sends.streams[s].messages.each(func(seq int64, m *message) bool {
			if l.queues.got[i].has(seq) {
				came = append(came, m.called)
			}
			return true
		})
	}
	for _, q := range l.wills.all {
		if i := l.route.at(process, q.stream); i >= 0 && l.route.pairs[i].sent > 0 && q.leave != history.None && l.queues.got[i].has(q.seq) {
			came = append(came, q.ended)
		}
	}
	slices.Sort(came)
	return came
}

// capacity remembers when the queues of processes had no room, and what was kept in them.
type capacity struct {
	ledger  *ledger
	of      map[int32][]reason   // by process and slot
	away    map[[2]int32]backlog // by process and stream
	offline map[int32]offline
	most    map[string]int64 // by group
}

func newCapacity(l *ledger) *capacity {
	return &capacity{l, map[int32][]reason{}, map[[2]int32]backlog{}, map[int32]offline{}, map[string]int64{}}
}

// lacked returns why a broker may have had no room for a message to a process, which alone was to
// have it.
func (r *capacity) lacked(process, stream int32, seq int64, alone bool) reason {
	if r.ledger.queues.limit == 0 {
		return none
	}
	m := r.ledger.sends.streams[stream].messages.at(seq)
	if r.had(process, stream, seq) || r.passedOver(process, stream, m) {
		return none
	}
	if why := r.lacks(process, m.called, m.acked); why != none || !alone || !r.filled(process, m) {
		return why
	}
	return maybeFull
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
func (r *capacity) filled(process int32, m *message) bool {
	l := r.ledger
	if l.queues.known || l.tables.Processes[process].Protocol == contract.MQ9 {
		return false
	}
	away := r.offlineOf(process)
	i := during(away.leaves, m)
	return i >= 0 && away.kept[i] > 0 && 5*away.kept[i] >= 4*r.mostOf(l.tables.Processes[process].Group)
}

// mostOf returns how many messages were kept at most for a client of a group that was away.
func (r *capacity) mostOf(group string) (most int64) {
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
func (r *capacity) offlineOf(process int32) offline {
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
func (r *capacity) passedOver(process, stream int32, m *message) bool {
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

// lackedBy returns why a broker may have had no room for a message to the member of a group that
// it chose. It could choose a member that is there.
func (r *capacity) lackedBy(members []int32, stream int32, seq int64) (why reason) {
	if slices.ContainsFunc(members, func(p int32) bool { return r.had(p, stream, seq) }) {
		return none
	}
	for _, p := range members {
		why = surest(why, r.lacked(p, stream, seq, len(members) == 1))
	}
	return why
}

// lackedWill returns why a broker may have had no room for a will to a process. It may publish it
// long after the connection's end, which it has to notice first.
func (r *capacity) lackedWill(process int32, q *bequest) reason {
	if r.had(process, q.stream, q.seq) {
		return none
	}
	return r.lacks(process, q.ended, never)
}

// had reports whether a message came. There was room for it then, so a canary that drops it
// must turn red.
func (r *capacity) had(process, stream int32, seq int64) bool {
	i := r.ledger.route.at(process, stream)
	return i < 0 || r.ledger.queues.limit > 0 && r.ledger.queues.got[i].has(seq)
}

// lacks returns why a process's queue may have had no room at any time between two.
func (r *capacity) lacks(process int32, from, to int64) (why reason) {
	l := r.ledger
	if l.queues.limit == 0 || l.tables.Processes[process].Protocol == contract.MQ9 || from < 0 {
		return none
	}
	all, known := r.of[process]
	if !known {
		all = l.lacks(process)
		r.of[process] = all
	}
	last := int64(len(all) - 1)
	for _, at := range all[min(from/slot, last) : min(to/slot, last)+1] {
		why = surest(why, at)
	}
	return why
}
