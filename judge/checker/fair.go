package checker

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimFair = Entry{
	Claim: verdict.Claim{Name: "fair", Severity: verdict.P2,
		Text:   "While a client stalls, is dead or floods, the others are served as before: of each group at each node the acknowledgements and deliveries take no longer, and are no fewer, than the scenario bounds against that group before (fair).",
		Source: verdict.Budget},
	Category: Fairness, Checker: "fair@3", Protocols: mqtt, New: newFair, NeedsComplete: true, Bounded: true, canary: slowNeighbours,
	ByFault: true,
}

// fair judges that clients are served as before while another one stalls, is dead or
// floods. It compares each group at each node with the same group before: how long
// acknowledgements and deliveries take, and how many come. An average over all clients
// would hide a few that get nothing. A message that never came counts with the time
// from its call to the end of the recording.
type fair struct {
	ledger *ledger
	bound  history.Fair
	times  []stretch   // the time before, then that of each client that misbehaved
	mixed  []string    // why others that misbehaved are not looked at
	bad    []bool      // processes to which something was done
	drain  int64       // when it began
	end    int64       // of what was recorded
	node   []int16     // of each process, as it was connected before
	got    []bitmap    // by pair of process and stream: what was delivered
	took   []served    // deliveries, by process and stretch
	early  []firstCopy // deliveries before their publish was recorded
}

// tail is the least number of latencies for a 99th percentile. With fewer it would be
// the longest one, or the next.
const tail = 200

// A stretch is a time in which clients are looked at together.
type stretch struct {
	from, to int64
	fault    history.Landing // none in the time before
}

// served holds how one client was served with the messages of one stretch.
type served struct {
	latencies
	came   int64 // in the stretch, whenever it was published
	max    int64 // the longest, and what it was:
	row    int64
	stream int32
	seq    int64
}

func (s served) fork() served {
	s.latencies = s.latencies.fork()
	return s
}

func newFair(ctx Context) Checker {
	l := ctx.ledger
	c := &fair{ledger: l, bound: ctx.Run.Budget.Fair, drain: never, bad: make([]bool, len(l.tables.Processes)), node: make([]int16, len(l.tables.Processes))}
	for p := range c.node {
		c.node[p] = history.None
	}
	for _, f := range l.landings {
		for p, row := range l.tables.Processes {
			if !aims(f.Target, int32(p), row) {
				continue
			}
			for q, other := range l.tables.Processes {
				c.bad[q] = c.bad[q] || p == q || slices.Contains([]string{"sigstop", "sigkill"}, f.Mechanism) && together(row, other)
			}
		}
	}
	c.times, c.mixed = stretches(l.landings, time.Duration(ctx.Run.Budget.RecoveryS*1e9))
	if c.judges() {
		c.got, c.took = make([]bitmap, len(l.route.pairs)), make([]served, len(c.bad)*len(c.times))
	}
	return c
}

// judges reports whether there is anything to judge.
func (c *fair) judges() bool { return c.bound != history.Fair{} && len(c.times) > 1 }

// aims reports whether a fault's target means a process.
func aims(target string, process int32, row history.Process) bool {
	name, client := strings.CutPrefix(target, history.TargetClient) // its name, or its number
	switch {
	case client:
		return name == row.Name || name == fmt.Sprint(process)
	case row.Group == history.GroupProbe:
		return false
	case row.Group == history.GroupPublisher:
		return target == history.TargetPublishers || target == history.TargetClients
	}
	return target == history.TargetSubscribers || target == history.TargetClients
}

// together reports whether one process of the harness runs two clients, so that
// both stop with it. A workload has one for its publishers and one for its
// subscribers.
func together(a, b history.Process) bool { return a.Run == b.Run && role(a.Group) == role(b.Group) }

// role returns the kind of process that runs the clients of a group.
func role(group string) string {
	switch group {
	case history.GroupPublisher, history.GroupWill, history.GroupProbe:
		return group
	}
	return "subscriber"
}

// misbehaves reports whether a fault is that of clients, and not of the brokers
// or what is between them.
func misbehaves(f history.Landing) bool {
	return f.OnClients() || f.Mechanism == history.MechanismClients
}

// stretches returns the time before the first fault, and the times in which clients
// misbehaved. The beginning of the first is not known yet, and the others may overlap.
// A time cannot be compared if a fault was on the brokers meanwhile or they may not
// have recovered from one: mixed says so for each.
func stretches(landings []history.Landing, recovery time.Duration) (all []stretch, mixed []string) {
	all = []stretch{{from: never, to: never}}
	brokers := history.Windows(slices.DeleteFunc(slices.Clone(landings), misbehaves))
	for _, f := range landings {
		for _, w := range history.Windows([]history.Landing{f}) {
			all[0].to = min(all[0].to, int64(w.Start))
			if !misbehaves(f) {
				continue
			}
			k := slices.IndexFunc(brokers, func(x history.Window) bool { return x.Start <= w.End && w.Start-recovery <= x.End })
			if k < 0 {
				all = append(all, stretch{int64(w.Start), int64(w.End), f})
				continue
			}
			mixed = append(mixed, sentence("%s is not judged: %s was in place meanwhile, or was healed less than %s before (recovery_s); inject the two apart", called(f), brokers[k].Fault, recovery))
		}
	}
	return all, mixed
}

// called returns the name of a fault in texts: f1 (slow_reader of client:online-1).
func called(f history.Landing) string { return sentence("%s (%s of %s)", f.Fault, f.Type, f.Target) }

func (c *fair) fork() Checker {
	f := *c
	f.times, f.node, f.got = slices.Clone(c.times), slices.Clone(c.node), forks(c.got, bitmap.fork)
	f.took, f.early = forks(c.took, served.fork), slices.Clone(c.early)
	return &f
}

func (c *fair) Add(b *history.Batch) {
	if !c.judges() {
		return
	}
	rows := c.ledger.rows(b)
	c.end = max(c.end, b.Time[b.N-1])
	for _, i := range rows.control {
		c.turn(b, int(i))
	}
	for _, d := range rows.delivered {
		if d.pair < 0 || d.flags&(history.FlagRetain|history.FlagCorrupt|history.FlagForeign) != 0 || !c.owes(b.Process[d.i], b.Stream[d.i]) {
			continue
		}
		if !c.got[d.pair].add(d.seq) {
			continue
		}
		r := firstCopy{b.Process[d.i], b.Stream[d.i], d.seq, b.Index[d.i], b.Time[d.i]}
		if !c.takes(r) {
			c.early = append(c.early, r)
		}
	}
}

// A firstCopy is the first delivery of a message to a process.
type firstCopy struct {
	process, stream int32
	seq, row, at    int64
}

// takes counts a delivery, unless its publish was not recorded yet.
func (c *fair) takes(r firstCopy) bool {
	m := c.ledger.sends.find(r.stream, r.seq)
	if m == nil {
		return false
	}
	for s := range c.of(c.took, r.process, r.at) {
		s.came++
	}
	for s := range c.of(c.took, r.process, m.called) {
		s.take(r.at-m.called, r.row, r.stream, r.seq)
	}
	return true
}

func (c *fair) turn(b *history.Batch, i int) {
	switch p := b.Process[i]; {
	case b.Kind[i] == history.KindPhase && b.Text(i) == history.PhaseSteady:
		c.times[0].from = min(c.times[0].from, b.Time[i])
	case b.Kind[i] == history.KindPhase && b.Text(i) == history.PhaseDrain:
		c.drain = min(c.drain, b.Time[i])
	case b.Kind[i] == history.KindConnect && b.Edge[i] == history.Return && b.Outcome[i] == history.OK && uint32(p) < uint32(len(c.node)):
		if b.Node[i] >= 0 && (c.node[p] < 0 || b.Time[i] < c.times[0].to) {
			c.node[p] = b.Node[i]
		}
	}
}

// neighbour reports whether a process is one of those that are to be served as
// before.
func (c *fair) neighbour(p int32) bool {
	return uint32(p) < uint32(len(c.bad)) && !c.bad[p] && !c.ledger.route.probed(p)
}

// owes reports whether a stream's messages are to reach a process at once: it is
// connected throughout, and takes what it is sent as it comes.
func (c *fair) owes(process, stream int32) bool {
	row := c.ledger.tables.Streams[stream]
	group := c.ledger.tables.Processes[process].Group
	return (group == history.GroupOnline || group == history.GroupOverlapping) && c.neighbour(process) && c.neighbour(row.Producer) &&
		row.QoS > 0 && !row.Register && !ephemeral(row) && !c.ledger.route.get(process, stream).lossy() && c.ledger.route.get(process, stream).filters > 0
}

// of goes through the entries of a process in a table for a time: one in every stretch
// that includes it, and none from the drain on.
func (c *fair) of(table []served, process int32, t int64) iter.Seq[*served] {
	return func(yield func(*served) bool) {
		for k, s := range c.times {
			if s.from <= t && t <= s.to && t < c.drain && !yield(&table[int(process)*len(c.times)+k]) {
				return
			}
		}
	}
}

func (s *served) take(ns, row int64, stream int32, seq int64) {
	s.add(ns)
	if ns > s.max || s.n == 1 {
		s.max, s.row, s.stream, s.seq = ns, row, stream, seq
	}
}

// acknowledged returns how long publishes took, by process and stretch.
func (c *fair) acknowledged() []served {
	took := make([]served, len(c.took))
	for i, row := range c.ledger.tables.Streams {
		if !c.neighbour(row.Producer) || row.QoS == 0 || c.ledger.tables.Processes[row.Producer].Group != history.GroupPublisher {
			continue
		}
		for seq, m := range c.ledger.sends.streams[i].messages.each {
			if m.call == 0 {
				continue
			}
			at, until := m.call.index(), c.end
			if m.ret != 0 {
				at, until = m.ret.index(), m.acked
				if m.outcome == history.OK {
					for s := range c.of(took, row.Producer, m.acked) {
						s.came++
					}
				}
			}
			for s := range c.of(took, row.Producer, m.called) {
				s.take(until-m.called, at, int32(i), seq)
			}
		}
	}
	return took
}

// delivered returns how long deliveries took, by process and stretch, with the
// acknowledged messages that never came.
func (c *fair) delivered() []served {
	took := forks(c.took, served.fork)
	for i, row := range c.ledger.tables.Streams {
		st := &c.ledger.sends.streams[i]
		for p := range c.bad {
			process, stream := int32(p), int32(i)
			from := c.ledger.owed(process, stream)
			if from == never || !c.owes(process, stream) || c.ledger.refusals(row.Producer) {
				continue
			}
			st.acked.each(st.since(from), &c.got[c.ledger.route.at(process, stream)], func(seq int64) {
				m := st.messages.at(seq)
				for s := range c.of(took, process, m.called) {
					s.take(c.end-m.called, m.call.index(), stream, seq)
				}
			})
		}
	}
	return took
}

func (c *fair) Result(*closing) verdict.Result {
	for _, r := range c.early {
		c.takes(r)
	}
	c.early = nil
	switch {
	case c.bound == history.Fair{}:
		return unjudged("the scenario sets no bounds on how others are served; set fair in its tiers")
	case len(c.times) == 1 && len(c.mixed) > 0:
		r := unjudged(c.mixed[0])
		r.Reasons = some(c.mixed)
		return r
	case len(c.times) == 1:
		return unjudged("no client misbehaved; inject one that does: slow_reader, half_open, publish_flood")
	case c.times[0].from >= c.times[0].to:
		return unjudged("there was no steady phase before the first fault; raise steady_s")
	}
	var found findings
	var groups []verdict.Group
	var judged, rates int64
	thin := slices.Clone(c.mixed)
	for _, what := range []struct {
		of   string
		took []served
	}{{"acknowledgement", c.acknowledged()}, {"delivery", c.delivered()}} {
		for _, g := range c.groups(what.took) {
			for k := 1; k < len(c.times); k++ {
				out, why := c.compare(what.of, g, what.took, k)
				if groups = append(groups, out); why != "" {
					thin = append(thin, why)
					continue
				}
				judged++
				if !c.tailed(out) {
					rates++
				}
				if out.Slowed {
					found.add(c.slowed(out, g, what.took, k))
				}
			}
		}
	}
	r := found.judged(judged, map[string]int64{"compared": judged, "by_rate_alone": rates, "slowed": found.total}, "no group was there before and while a client misbehaved; have clients to which nothing is done: subscribers: {online: 6}")
	r.Groups = groups
	switch {
	case r.Status == verdict.Fail:
		r.Summary = summary("%d of %d times a group was served worse while another client misbehaved, the first: %s", found.total, judged, r.Anomalies[0].Text)
	case len(thin) > 0:
		r.Status, r.Summary, r.Reasons = verdict.Unknown, thin[0], some(thin)
	case r.Status == verdict.Pass:
		slowest := slices.MaxFunc(groups, func(a, b verdict.Group) int { return cmp.Compare(a.During.P99MS, b.During.P99MS) })
		r.Summary = summary("%d times a group was served as before while another client misbehaved; the slowest was %s of %s in %s, 99%% within %s", judged, slowest.Of, slowest.Name, slowest.Fault, millis(slowest.During.P99MS))
	}
	return r
}

// slowNeighbours lets what neighbours were delivered while a client misbehaved come much
// later.
func slowNeighbours(ctx Context) *mutation {
	l, c := ctx.ledger, newFair(ctx).(*fair)
	by := int64((c.bound.Times*3600 + c.bound.FloorS) * 1e9)
	m := &mutation{idle: "no other client was delivered anything while one misbehaved"}
	m.apply = func(b *history.Batch) *history.Batch {
		if !c.judges() {
			return b
		}
		out := *b
		for _, d := range l.rows(b).delivered {
			at := b.Time[d.i]
			if d.pair < 0 || !c.owes(b.Process[d.i], b.Stream[d.i]) || at < c.times[1].from || at > c.times[1].to {
				continue
			}
			if len(out.Time) == 0 || &out.Time[0] == &b.Time[0] {
				out.Time = slices.Clone(b.Time[:b.N])
			}
			out.Time[d.i] += by
			m.did = sentence("kept from everybody else for %s what was delivered in %s", clock(by), c.times[1].fault.Fault)
		}
		if len(out.Time) > 0 && &out.Time[0] == &b.Time[0] {
			return b
		}
		return &out
	}
	return m
}
