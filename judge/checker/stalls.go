package checker

import (
	"slices"
	"sort"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// ClaimDeliveryProgress is the claim that is judged beside those of a cluster explored by
// hand.
const ClaimDeliveryProgress = "delivery-progress"

var claimDeliveryProgress = Entry{
	Claim: verdict.Claim{Name: ClaimDeliveryProgress, Severity: verdict.P1,
		Text:   "A subscriber that is connected and reads gets what was acknowledged for it: while no fault is in place none waits for longer than the scenario allows the cluster to be silent and to recover (progress_s, recovery_s; without them half a minute).",
		Source: verdict.Budget},
	Category: Liveness, Checker: "stalls@5", Protocols: every, Rests: history.PromiseProgress, New: newStalls, NeedsComplete: true, Timed: true, canary: holdBack,
	Excused: excused("a broker need not send again on one connection what the tap withheld", withholding...),
}

// stalls judges that subscribers are not left waiting. A message waits while it is
// acknowledged and its subscriber is connected, reads and has not got it. The time of a
// fault does not count, nor the time in which earlier messages flow. A message that
// never comes is lost, and another claim judges it: a stall counts once it has ended,
// by itself or because the subscriber connected anew. Members of shared subscriptions
// are not judged.
type stalls struct {
	ledger *ledger
	bound  int64
	got    []bitmap  // by pair: what reached whom
	of     []stalled // by process
	reads  bool      // a canary: it notes nothing where its checker does
	judged int64
}

// flowing is the number of deliveries within flowSpan that make a flow.
const (
	flowing  = 10
	flowSpan = int64(10e9)
)

// flows reports whether a process gets messages steadily until a time, and notes
// that it got one then.
func (s *stalled) flows(t int64) bool {
	oldest := s.last[s.next]
	s.last[s.next] = t
	s.next = (s.next + 1) % flowing
	return oldest > 0 && t-oldest <= flowSpan
}

// A stalled is how long messages of one process waited.
type stalled struct {
	exempt bool // it is no subscriber whose time counts
	list   []standstill
	last   [flowing]int64 // times of the first deliveries before
	next   int            // of those the oldest

	owing owing // by the wire
}

// An owing is when a client had packets to answer on its connection: a broker may wait
// for these. A client that answered PUBLISH by PUBREC owes nothing until it is sent
// PUBREL.
type owing struct {
	conn  int32  // its connection
	begun int64  // when it was let in there
	open  bitmap // packet ids that it has not answered there
	left  bitmap // likewise on the connection before, when that ended
	since int64  // when the first of them came
	owed  int64  // the time with such packets, without that since since
	marks []owed
}

// An owed is how much that time was, at a moment when the client owed nothing.
type owed struct{ t, owed int64 }

// markEvery is how much owed must have grown for the next mark.
const markEvery = int64(100e6)

func (o *owing) begin(p *packet) {
	o.left.reset()
	*o = owing{conn: p.conn, begun: p.time, open: o.left, left: o.open}
}

func (o *owing) ask(p *packet) {
	if o.open.add(p.id) && o.open.n == 1 {
		o.since = p.time
	}
}

func (o *owing) answer(p *packet) {
	if !o.open.remove(p.id) || o.open.n > 0 {
		return
	}
	o.owed += p.time - o.since
	if n := len(o.marks); n == 0 || o.owed-o.marks[n-1].owed >= markEvery {
		o.marks = append(o.marks, owed{p.time, o.owed})
	}
}

// free returns how long the client owed nothing between two times, at least. The second
// is now.
func (o *owing) free(from, now int64) int64 {
	from = max(from, o.begun)
	in := o.owed
	if o.open.n > 0 {
		in += now - o.since
	}
	if i := sort.Search(len(o.marks), func(i int) bool { return o.marks[i].t > from }); i > 0 {
		in -= o.marks[i-1].owed
	}
	return now - from - in
}

// A standstill is messages that waited too long, at one and the same time.
type standstill struct {
	from, to int64
	messages int64
	longest  int64
	freed    bool // it connected anew, and then got them
	stream   int32
	seq      int64 // of the one that waited longest
	row      int64
}

func newStalls(ctx Context) Checker {
	l, b := ctx.ledger, ctx.Run.Budget
	c := &stalls{ledger: l, got: make([]bitmap, len(l.route.pairs)), of: make([]stalled, len(l.tables.Processes))}
	c.bound = stallBound(b)
	for i, p := range l.tables.Processes {
		c.of[i].exempt = slices.Contains([]string{history.GroupSlow, history.GroupPaused, history.GroupProbe, history.GroupWill}, p.Group) // those are to wait, or nobody waits for them
	}
	return c
}

// stallBound returns how long a message may wait: the longer of the silence and the
// recovery that the scenario allows, or half a minute where it allows none.
func stallBound(b history.Budget) int64 {
	if bound := int64(max(b.ProgressS, b.RecoveryS) * 1e9); bound > 0 {
		return bound
	}
	return 30e9
}

func (c *stalls) fork() Checker {
	f := *c
	f.reads = true
	f.got = forks(c.got, bitmap.fork)
	f.of = forks(c.of, func(s stalled) stalled { s.list = slices.Clone(s.list); return s })
	return &f
}

func (c *stalls) Add(b *history.Batch) {
	rows := c.ledger.rows(b)
	for _, i := range rows.control {
		if p := b.Process[i]; b.Kind[i] == history.KindPause && uint32(p) < uint32(len(c.of)) {
			joined := c.ledger.sessions.of[p].connects
			c.of[p].exempt = c.of[p].exempt || len(joined) > 0 && joined[0] < b.Time[i] // before that nothing waits for it
		}
	}
	packets := rows.packets
	if c.reads {
		packets = nil
	}
	for _, d := range rows.delivered {
		packets = c.follow(packets, int(d.i))
		if d.pair < 0 || !c.got[d.pair].add(d.seq) || c.of[b.Process[d.i]].exempt || !c.ledger.plain(d) {
			continue
		}
		c.judged++
		steady := c.of[b.Process[d.i]].flows(b.Time[d.i])
		m := c.ledger.sends.find(b.Stream[d.i], d.seq)
		if m == nil || m.outcome != history.OK || b.Time[d.i]-m.acked <= c.bound {
			continue
		}
		c.late(b, d, m, steady && !c.got[d.pair].hasFrom(d.seq+1)) // not overtaken
	}
	c.follow(packets, b.N)
}

// follow takes the packets before a row of the batch. It returns the others.
func (c *stalls) follow(packets []packet, until int) []packet {
	for len(packets) > 0 && packets[0].i < until {
		if p := &packets[0]; uint32(p.process) < uint32(len(c.of)) {
			c.packet(p, &c.of[p.process])
		}
		packets = packets[1:]
	}
	return packets
}

func (c *stalls) settled() bool {
	return slices.ContainsFunc(c.of, func(s stalled) bool { return len(s.list) > 0 })
}

// packet follows the packets that a client has not answered, because its broker may
// wait for those. It also notes the messages sent to it late.
func (c *stalls) packet(p *packet, of *stalled) {
	switch o := &of.owing; {
	case p.conn < o.conn: // written down late
	case p.accepted():
		o.begin(p)
	case p.toClient && (p.kind == publishPacket || p.kind == pubrelPacket):
		if !o.open.has(p.id) { // else it is a repetition
			c.step(p, o)
		}
		o.ask(p)
	case !p.toClient && (p.kind == pubackPacket || p.kind == pubrecPacket || p.kind == pubcompPacket):
		o.answer(p)
	}
}

// step notes a late step of the broker to hand over a message that its subscriber has
// neither got nor acknowledged. It is not late to go on at once with what the connection
// before left unanswered.
func (c *stalls) step(p *packet, o *owing) {
	m := c.ledger.sends.find(p.stream, p.seq)
	if m == nil || m.outcome != history.OK || p.time-m.acked <= c.bound {
		return
	}
	to := c.ledger.wire.to(p.process, p.stream, p.seq)
	if to == nil || to.idle || to.acked >= 0 && int64(to.acked) < p.row || c.got[c.ledger.route.at(p.process, p.stream)].has(p.seq) {
		return
	}
	by := resentLate
	switch {
	case int64(to.first) == p.row:
		by = sentLate
	case o.left.has(p.id) && p.time-o.begun <= c.bound:
		return
	case p.kind == pubrelPacket:
		by = releasedLate
	}
	to.late, to.idle = by, o.free(m.acked, p.time) > c.bound
}

// heldBy names the party that kept a message from its subscriber. A client that leaves
// packets unanswered may keep its broker from sending more.
func (c *stalls) heldBy(process, stream int32, seq int64) shown {
	to := c.ledger.wire.to(process, stream, seq)
	switch {
	case to == nil:
		return undecided(noPublish)
	case to.late == inTime:
		return bySDK("that the broker sent it in time", int64(to.first))
	case to.idle:
		return byBroker("that the broker sent "+to.late.String()+" so late, to a client that had answered all it was sent", int64(to.first))
	}
	return undecided("the client had left something unanswered, or had connected in the meantime", int64(to.first))
}

// late takes a message that came long after it was acknowledged. In a flow it may have
// waited for those before it alone.
func (c *stalls) late(b *history.Batch, d delivery, m *message, flow bool) {
	l, p, s := c.ledger, b.Process[d.i], b.Stream[d.i]
	row := l.tables.Streams[s]
	if row.Register || ephemeral(row) || row.QoS == 0 || m.called < l.sessions.due(p, row.Topic) {
		return
	}
	list := &c.of[p].list
	if n := len(*list); flow {
		if n > 0 && m.acked < (*list)[n-1].to {
			(*list)[n-1].messages++
		}
		return
	}
	from, to, freed := c.waited(p, b.Conn[d.i], m.acked, b.Time[d.i])
	if to-from <= c.bound {
		return
	}
	if n := len(*list); n == 0 || (*list)[n-1].to < from {
		*list = append(*list, standstill{from: from})
	}
	at := &(*list)[len(*list)-1]
	at.from, at.to, at.messages, at.freed = min(at.from, from), max(at.to, to), at.messages+1, at.freed || freed
	if to-from > at.longest {
		at.longest, at.stream, at.seq, at.row = to-from, s, d.seq, b.Index[d.i]
	}
}

// waited is the longest time between two in which a process was connected and no
// fault was in place, and whether it then connected anew. Conn is its connection at
// the end.
func (c *stalls) waited(process, conn int32, acked, came int64) (from, to int64, freed bool) {
	session := &c.ledger.sessions.of[process]
	take := func(a, z int64, anew bool) {
		for _, w := range c.ledger.windows {
			if int64(w.Start) > a && int64(w.Start) < z && int64(w.Start)-a > to-from {
				from, to, freed = a, int64(w.Start), anew
			}
			if int64(w.Start) < z {
				a = max(a, min(int64(w.End), z))
			}
		}
		if z-a > to-from {
			from, to, freed = a, z, anew
		}
	}
	connected := int64(history.None)
	for i, t := range session.connects {
		if int32(i) == conn || t > came {
			break
		}
		left := came
		if at, _ := slices.BinarySearch(session.turns, t); at+1 < len(session.turns) {
			left = session.turns[at+1]
		}
		if left > acked {
			take(max(acked, t), min(left, came), true)
		}
	}
	if uint32(conn) < uint32(len(session.connects)) {
		connected = session.connects[conn]
	}
	if connected >= 0 && connected < came {
		take(max(acked, connected), came, false)
	}
	return from, to, freed
}

func (c *stalls) Result(*closing) verdict.Result {
	var found findings
	var messages, longest int64
	for p := range c.of {
		for _, s := range c.of[p].list {
			messages, longest = messages+s.messages, max(longest, s.longest)
			found.add(c.stall(int32(p), s))
		}
	}
	r := found.judged(c.judged, map[string]int64{"delivered": c.judged, "stalls": found.total, "stalled": messages, "longest_ms": longest / 1e6}, "nothing was delivered")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("none of %d deliveries kept its subscriber waiting for more than %s", c.judged, clock(c.bound))
	case verdict.Fail:
		r.Summary = summary("%d deliveries kept their subscribers waiting for up to %s, allowed are %s: %s", messages, clock(longest), clock(c.bound), r.Anomalies[0].Text)
	}
	return r
}

func (c *stalls) stall(process int32, s standstill) verdict.Anomaly {
	m := c.ledger.sends.find(s.stream, s.seq)
	end := "got them on the same connection"
	if s.freed {
		end = "got them when it reconnected"
	}
	a := verdict.Anomaly{
		Kind: "stalled", Process: process, Stream: s.stream, Seq: s.seq, TimeNS: s.from, Events: events(m.call.index(), m.ret.index(), s.row),
		Text: sentence("%s was connected and waited from %s to %s for %d acknowledged messages and %s; the longest, for %s, for %s",
			c.ledger.process(process), clock(s.from), clock(s.to), s.messages, end, clock(s.longest), c.ledger.message(s.stream, s.seq)),
	}
	c.ledger.accuse(&a, c.heldBy(process, s.stream, s.seq))
	return a
}

// holdBack lets one message reach its subscriber later than any may.
func holdBack(ctx Context) *mutation {
	l := ctx.ledger
	by := stallBound(ctx.Run.Budget) + int64(1e9)
	end := int64(0)
	for _, w := range l.windows {
		end = max(end, int64(w.End))
	}
	if end == never {
		return &mutation{idle: "a fault was in place to the end"}
	}
	judge := newStalls(ctx).(*stalls)
	return oneRow("no acknowledged message was delivered to a subscriber that waits", func(b *history.Batch, d delivery) (*history.Batch, string) {
		process, stream := b.Process[d.i], b.Stream[d.i]
		if b.QoS[d.i] == 0 || judge.of[process].exempt || !l.plain(d) || !l.certain(stream, d.seq, l.owed(process, stream)) || uint32(b.Conn[d.i]) >= uint32(len(l.sessions.of[process].connects)) {
			return nil, ""
		}
		c := *b
		c.Time = slices.Clone(b.Time[:b.N])
		c.Time[d.i] = max(end, b.Time[d.i]) + by
		return &c, sentence("delivered %s to %s %s late", l.message(stream, d.seq), l.process(process), clock(c.Time[d.i]-b.Time[d.i]))
	}, l)
}
