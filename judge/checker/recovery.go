package checker

import (
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimRecovery = Entry{
	Claim: verdict.Claim{Name: "recovery", Severity: verdict.P1,
		Text:   "After the last fault is healed, every node takes a publish and delivers a message again within the time that the scenario bounds (recovery_s).",
		Source: verdict.Budget},
	Category: Liveness, Checker: "recovery@6", Protocols: every, Rests: history.PromiseRecovery, New: newRecovery, NeedsComplete: true, Timed: true, Bounded: true, canary: mute,
}

// recovery judges that after the last heal, within the scenario's bound, a
// publish is acknowledged and a message delivered through every node. Its time
// counts from the beginning of the heal: that a node takes long to start is
// part of it. The probes are processes of their own, one for each node. They begin
// when the heal was read back, so that the time of nodes that were not under the fault
// counts from them: nobody asked them before.
type recovery struct {
	ledger  *ledger
	bound   int64
	healed  int64           // time at which the last heal began, or of the recovery phase where nothing was to be healed
	byHeal  bool            // healed is a heal's
	known   bool            // and the landing of its fault is there
	asked   int64           // time at which the first probe began to connect
	began   map[int64]int64 // times of heals under way
	node    []int16         // of each process, as last connected
	drained bool
	until   int64 // as far as it was watched: to the drain, or to the end of what was recorded
	canary  bool  // a run that recovered ends early; without what shows it, it was still long enough
	acks    []sighting
	seen    []sighting
	down    map[string]history.Landing // by node: what it did not come back after
}

// A sighting is one probe's success through one node.
type sighting struct {
	node          int16
	stream        int32
	seq, t, index int64
}

func newRecovery(ctx Context) Checker {
	l := ctx.ledger
	c := &recovery{ledger: l, bound: int64(ctx.Run.Budget.RecoveryS * 1e9), healed: history.None, asked: history.None, began: map[int64]int64{}}
	c.node = make([]int16, len(l.tables.Processes))
	for i := range c.node {
		c.node[i] = history.None
	}
	c.down = downAfter(ctx.Landings)
	return c
}

// countEnded counts the nodes that were started again and ended by themselves.
const countEnded = "ended"

func (c *recovery) Add(b *history.Batch) {
	rows := c.ledger.rows(b)
	if !c.drained && len(b.Time) > 0 {
		c.until = b.Time[len(b.Time)-1]
	}
	for _, i := range rows.control {
		c.turn(b, int(i))
	}
	if !rows.probed {
		return
	}
	for _, i := range rows.published {
		c.see(b, int(i))
	}
	for _, d := range rows.delivered {
		c.see(b, int(d.i))
	}
}

func (c *recovery) turn(b *history.Batch, i int) {
	switch b.Kind[i] {
	case history.KindHeal:
		c.heal(b, i)
	case history.KindPhase:
		if !c.byHeal && b.Text(i) == history.PhaseRecovery {
			c.healed = b.Time[i]
		}
		if c.drained = b.Text(i) == history.PhaseDrain; c.drained {
			c.until = b.Time[i]
		}
	case history.KindConnect:
		if c.see(b, i); c.asked < 0 && c.ledger.route.probed(b.Process[i]) {
			c.asked = b.Time[i]
		}
	}
}

// heal takes a row of a heal. A rolling one ends each node itself, one after the other, and
// counts from its end.
func (c *recovery) heal(b *history.Batch, i int) {
	if b.Edge[i] == history.Call {
		c.began[b.Index[i]] = b.Time[i]
		return
	}
	t, ok := c.began[b.Call[i]]
	if !ok || b.Outcome[i] != history.OK {
		return
	}
	of := landingOf(c.ledger.landings, b.Text(i))
	if of != nil && of.Rolling {
		t = b.Time[i]
	}
	if !c.byHeal || t >= c.healed {
		c.healed, c.byHeal, c.known = t, true, of != nil
	}
}

func landingOf(all []history.Landing, fault string) *history.Landing {
	for i := range all {
		if all[i].Fault == fault {
			return &all[i]
		}
	}
	return nil
}

func (c *recovery) see(b *history.Batch, i int) {
	p := b.Process[i]
	if !c.ledger.route.probed(p) {
		return
	}
	if b.Node[i] >= 0 {
		c.node[p] = b.Node[i]
	}
	s := sighting{c.node[p], b.Stream[i], b.Seq[i], b.Time[i], b.Index[i]}
	switch {
	case b.Kind[i] == history.KindDeliver:
		c.seen = append(c.seen, s)
	case b.Kind[i] == history.KindPublish && b.Edge[i] == history.Return && b.Outcome[i] == history.OK:
		c.acks = append(c.acks, s)
	}
}

func (c *recovery) Result(*closing) verdict.Result {
	l := c.ledger
	switch {
	case c.bound <= 0:
		return unjudged("the scenario sets no bound on recovery (recovery_s)")
	case c.healed < 0:
		return unjudged("nothing was healed, and no node was probed")
	case len(l.tables.Nodes) == 0:
		return unjudged("no node is known")
	case !c.probed() && len(c.down) == 0:
		return unjudged("no probe was started after the heal")
	}
	var found findings
	var slowest, until int64
	var ended int64 // by themselves, which no slow host explains
	for n := range l.tables.Nodes {
		if c.ended(int16(n)) != "" {
			ended++
		}
		if _, down := c.down[l.tables.Nodes[n].Name]; !down && !c.probed() {
			continue // nobody asked it
		}
		from := c.from(int16(n))
		published, delivered := c.first(c.acks, int16(n), from), c.first(c.seen, int16(n), from)
		slowest, until = max(slowest, published-c.healed, delivered-c.healed), max(until, from+c.bound)
		if published == never || delivered == never {
			found.add(c.missing(int16(n), published, delivered))
		}
	}
	n := int64(len(l.tables.Nodes))
	r := found.judged(n, map[string]int64{"nodes": n, "not_recovered": found.total}, "")
	if r.Status == verdict.Fail && !c.canary && c.until < until && len(c.down) == 0 {
		return unjudged(sentence("the run was over at %s, before the time to recover was, at %s", clock(c.until), clock(until)))
	}
	if ended > 0 {
		r.Counts[countEnded] = ended
	}
	if r.Status == verdict.Fail {
		r.Summary = summary("%d of %d nodes did not serve within %s of %s, the first: %s", found.total, n, clock(c.bound), c.origin(), r.Anomalies[0].Text)
		return r
	}
	r.Counts["slowest_ms"] = slowest / 1e6
	r.Summary = summary("all of %d nodes took a publish and delivered a message within %s of %s", n, clock(slowest), c.origin())
	return r
}

// origin names the moment from which the time to recover counts. A control heals nothing.
func (c *recovery) origin() string {
	if c.byHeal {
		return "the last heal"
	}
	return startOfProbes
}

const startOfProbes = "the start of the probes"

// downAfter are the nodes that did not serve again when a fault was taken out.
func downAfter(all []history.Landing) map[string]history.Landing {
	down := map[string]history.Landing{}
	for _, l := range all {
		if l.Healed == history.HealDown {
			for node := range l.Down {
				down[node] = l
			}
		}
	}
	return down
}

func (c *recovery) probed() bool {
	for p, row := range c.ledger.tables.Processes {
		if row.Group == history.GroupProbe && c.ledger.sessions.of[p].tried {
			return true
		}
	}
	return false
}

// from is when the time of a node begins: with the last heal, or with the probes where only
// other nodes were waited for by then, and nobody asked this one before.
func (c *recovery) from(node int16) int64 {
	if !c.known || c.asked < 0 || slices.ContainsFunc(c.ledger.landings, func(f history.Landing) bool { return c.awaited(f, node) }) {
		return c.healed
	}
	return max(c.healed, c.asked)
}

// awaited reports whether the heal of a fault, which waits for its nodes, was not over yet
// when the last one began.
func (c *recovery) awaited(f history.Landing, node int16) bool {
	return slices.Contains(f.Nodes, c.ledger.tables.Nodes[node].Name) && (f.Times.HealedNS == 0 || f.Times.HealedNS > c.healed)
}

// first returns when a message called after the heal was first seen through a node, or
// never. A time beyond the bound counts as never.
func (c *recovery) first(list []sighting, node int16, from int64) int64 {
	at := int64(never)
	for _, s := range list {
		m := c.ledger.sends.find(s.stream, s.seq)
		if s.node == node && m != nil && m.called >= c.healed && s.t <= from+c.bound {
			at = min(at, s.t)
		}
	}
	return at
}

func (c *recovery) missing(node int16, published, delivered int64) verdict.Anomaly {
	what := "took no publish and delivered nothing"
	switch {
	case published != never:
		what = "took a publish and delivered nothing"
	case delivered != never:
		what = "delivered a message and took no publish"
	}
	if l, down := c.down[c.ledger.tables.Nodes[node].Name]; down {
		what = sentence("did not come back after %s (%s of %s): it", l.Fault, l.Type, l.Target) + " " + what
	}
	from, origin := c.from(node), c.origin()
	if from != c.healed {
		origin = startOfProbes
	}
	a := verdict.Anomaly{
		Kind: "not-recovered", Process: history.None, Stream: history.None, Seq: history.None, TimeNS: from, Events: []int64{},
		Text: sentence("%s %s between %s at %s and %s", c.ledger.node(node), what, origin, clock(from), clock(from+c.bound)),
	}
	switch state := c.ended(node); {
	case state != "":
		a.Blame = verdict.Broker
		a.Text += sentence("; its process shows that it ended by itself after it was started again (%s)", state)
	case delivered == never:
		c.accuse(&a, node)
	}
	return a
}

// ended is how the process of a node ended by itself, after a fault was taken out and the node was
// started again; "" if it did not, or a signal 9 of the kernel or a stranger ended it.
func (c *recovery) ended(node int16) string {
	name := c.ledger.tables.Nodes[node].Name
	if state := c.down[name].Down[name]; strings.HasPrefix(state, history.StateExited) && state != history.StateKilled {
		return state
	}
	return ""
}

// accuse names the first probe of a node from which a message was withheld, and who did. If
// nobody is blamed it says why.
func (c *recovery) accuse(a *verdict.Anomaly, node int16) {
	text := a.Text
	for p := range int32(len(c.node)) {
		if c.node[p] != node || !c.ledger.route.probed(p) {
			continue
		}
		named := *a
		named.Process = p
		if c.ledger.accuse(&named, c.withheldFrom(p)); named.Blame != "" {
			*a = named
			return
		}
		if text == a.Text {
			text = named.Text
		}
	}
	a.Text = text
}

// withheldFrom shows a message that a broker acknowledged in the first half of the time to
// recover, and did not send to a probe that was delivered nothing in all of it.
func (c *recovery) withheldFrom(process int32) shown {
	l, left := c.ledger, false
	for _, s := range c.acks {
		m := l.sends.find(s.stream, s.seq)
		if m == nil || l.route.at(process, s.stream) < 0 || m.called < max(c.healed, l.sessions.due(process, l.topic(s.stream))) || s.t > c.from(c.node[process])+c.bound/2 {
			continue
		}
		to, by := l.wire.to(process, s.stream, s.seq), nothingShown
		switch {
		case to == nil:
			by = l.wire.lostBy(process, s.stream, s.seq)
		case to.idle:
			by = byBroker("that it was sent late, and that the client had answered all it was sent", int64(to.first))
		}
		if by.by == verdict.Broker {
			by.words = sentence("of %s, for %s, %s", l.message(s.stream, s.seq), l.process(process), by.words)
			return by
		}
		left = left || by.words == unanswered
	}
	if left {
		return undecided("the probe left something unanswered")
	}
	return nothingShown
}

// mute drops what the probes were delivered.
func mute(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "no probe was delivered anything"}
	m.apply = func(b *history.Batch) *history.Batch {
		rows := l.rows(b)
		if !rows.probed {
			return b
		}
		out := without(b, rows.delivered, func(d delivery) bool { return l.route.probed(b.Process[d.i]) })
		if out != b {
			m.did = "dropped what the probes were delivered"
		}
		return out
	}
	return m
}

func (c *recovery) fork() Checker {
	f := *c
	f.node, f.acks, f.seen, f.began = slices.Clone(c.node), slices.Clone(c.acks), slices.Clone(c.seen), maps.Clone(c.began)
	f.canary = true
	return &f
}
