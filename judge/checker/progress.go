package checker

import (
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimProgress = Entry{
	Claim: verdict.Claim{Name: "progress", Severity: verdict.P1,
		Text:   "While a fault is in place the cluster goes on acknowledging publishes, after a silence that the scenario bounds (progress_s).",
		Source: verdict.Budget},
	Category: Liveness, Checker: "progress@6", Protocols: every, Rests: history.PromiseProgress, New: newProgress, NeedsComplete: true, Timed: true, Bounded: true, canary: stall,
	ByFault: true,
}

// progress judges that the cluster goes on: while a fault is in place, and
// until it is overcome, publishers are not without an acknowledgement for
// longer than the scenario allows. Time in which we kept them from one does not count, nor
// does time in which none asked for one.
type progress struct {
	ledger *ledger
	bound  int64
	ours   []history.Window // in which nobody could be answered, by our doing
	acks   timeline
	drain  int64 // when it began, or None
	last   int64 // publish
}

func newProgress(ctx Context) Checker {
	return &progress{ledger: ctx.ledger, bound: int64(ctx.Run.Budget.ProgressS * 1e9), ours: ctx.ledger.mute(), drain: history.None}
}

func (c *progress) Add(b *history.Batch) {
	rows := c.ledger.rows(b)
	for _, i := range rows.published {
		c.last = max(c.last, b.Time[i])
		if b.QoS[i] > 0 && acknowledged(b, int(i)) && c.ledger.works(b.Stream[i]) {
			c.acks.add(b.Time[i], b.Index[i])
		}
	}
	for _, i := range rows.control {
		if b.Kind[i] == history.KindPhase && b.Text(int(i)) == history.PhaseDrain {
			c.drain = b.Time[i]
		}
	}
}

func (c *progress) Result(*closing) verdict.Result {
	if c.bound <= 0 {
		return unjudged("the scenario sets no bound on silence (progress_s)")
	}
	if len(c.ledger.windows) == 0 {
		return unjudged("no fault was in place")
	}
	if len(c.acks.count) == 0 {
		return unjudged("no publish was ever acknowledged")
	}
	var found findings
	var longest, open int64
	end := c.drain
	if end < 0 {
		end = c.last
	}
	c.around(end, func(s silence, fault string) {
		longest = max(longest, s.length())
		if s.length() > c.bound {
			found.add(c.silent(s, fault))
		} else if s.after == history.None {
			open = s.length()
		}
	})
	r := found.judged(int64(len(c.ledger.windows)), map[string]int64{"faults": int64(len(c.ledger.windows)), "silences": found.total, "longest_ms": longest / 1e6}, "")
	switch {
	case r.Status == verdict.Fail:
		r.Summary = summary("publishers went unanswered for up to %s, allowed are %s: %s", clock(longest), clock(c.bound), r.Anomalies[0].Text)
	case open > int64(1e9):
		r.Status = verdict.Unknown
		r.Summary = summary("publishing ended %s after the last acknowledgement", clock(open))
		r.Reasons = []string{r.Summary + ", before the bound of " + clock(c.bound) + " could tell"}
	default:
		r.Summary = summary("the longest silence around a fault was %s, allowed are %s", clock(longest), clock(c.bound))
		if len(c.ours) > 0 {
			r.Summary += " (the time in which a fault kept every node from answering is not counted)"
		}
	}
	return r
}

// settled does not count the silence that lasts until now. The canary gets no rows of an earlier
// time than one that ended: its mutation leaves none.
func (c *progress) settled() (is bool) {
	c.around(0, func(s silence, _ string) { is = is || c.bound > 0 && s.length() > c.bound })
	return is
}

// around calls f with each silence around a fault, until publishing ends. One in which
// nobody could be answered for a time is two, before it and after it. One that decides
// begins when somebody asks.
func (c *progress) around(end int64, f func(s silence, fault string)) {
	part := func(s silence) {
		fault := c.overlapping(s)
		if fault == "" {
			return
		}
		if s.length() > c.bound || s.after == history.None {
			s.from = c.ledger.unanswered(s.from, s.to)
		}
		if s.length() > 0 {
			f(s, fault)
		}
	}
	c.acks.silences(end, func(s silence) {
		for _, w := range c.ours {
			before := s
			before.to = min(s.to, int64(w.Start))
			part(before)
			s.from = max(s.from, int64(w.End))
		}
		part(s)
	})
}

func (c *progress) overlapping(s silence) string {
	for _, w := range c.ledger.windows {
		if s.from <= int64(w.End) && int64(w.Start) <= s.to {
			return w.Fault
		}
	}
	return ""
}

func (c *progress) silent(s silence, fault string) verdict.Anomaly {
	return verdict.Anomaly{
		Kind: "no-progress", Process: history.None, Stream: history.None, Seq: history.None,
		TimeNS: s.from, Fault: fault, Events: events(s.before, s.after),
		Text: sentence("no publish was acknowledged from %s to %s, around %s", clock(s.from), clock(s.to), fault),
	}
}

// unjudged is the result of a checker that had nothing to go by.
func unjudged(why string) verdict.Result {
	return verdict.Result{Status: verdict.Unknown, Summary: why, Reasons: []string{why}}
}

// holding are the types of faults whose nodes answer nobody.
var holding = []string{
	"kill", "kill_all", "stop", "pause", "restart", "crash_at", "partition", "unreachable",
	"power_loss", "torn_write", "lost_rename", "lost_disk", "replace_node",
}

// mute returns the times in which no publish could be answered, by our doing: a fault had
// every publisher, or kept every node from answering.
func (l *ledger) mute() []history.Window {
	return history.Windows(slices.DeleteFunc(slices.Clone(l.landings), func(f history.Landing) bool {
		if f.OnClients() {
			return !l.everyPublisher(f.Target)
		}
		return len(f.Nodes) < len(l.tables.Nodes) || !slices.Contains(holding, f.Type) || intoParts(f)
	}))
}

// intoParts reports whether a fault cuts nodes into parts, which may serve among themselves.
func intoParts(f history.Landing) bool {
	shape, _ := f.Params["shape"].(string)
	between := strings.ContainsAny(f.Target, "~>") && !strings.Contains(f.Target, "client")
	return between || shape != "" && shape != "node" && shape != "one_way"
}

// everyPublisher reports whether a target means every client that publishes what is
// acknowledged.
func (l *ledger) everyPublisher(target string) bool {
	for s, row := range l.tables.Streams {
		p := row.Producer
		if l.answers(int32(s)) && (uint32(p) >= uint32(len(l.tables.Processes)) || !history.Means(target, p, l.tables.Processes[p])) {
			return false
		}
	}
	return true
}

// stall lets every acknowledgement after the beginning of the first fault come later, by
// more than publishers may have to wait, and by the time in which nobody could answer them.
func stall(ctx Context) *mutation {
	m := &mutation{idle: "no fault was in place"}
	l := ctx.ledger
	if len(l.windows) == 0 {
		return m
	}
	w := l.windows[0]
	by := int64(ctx.Run.Budget.ProgressS*1e9) + int64(1e9)
	for _, o := range l.mute() {
		if o.End == never {
			m.idle = "to the end a fault kept publishers from any answer"
			return m
		}
		by = max(by, int64(o.End-w.Start+time.Second)+int64(ctx.Run.Budget.ProgressS*1e9))
	}
	m.idle = "no publish was acknowledged after a fault was in place"
	from := (int64(w.Start)/bucket + 1) * bucket // where the silence after an earlier one begins
	var times []int64                            // of the batch, which lasts until the next
	m.apply = func(b *history.Batch) *history.Batch {
		if slices.Max(b.Time[:b.N]) < from {
			return b
		}
		times = append(times[:0], b.Time[:b.N]...)
		held := false
		for _, i := range l.rows(b).published {
			if acknowledged(b, int(i)) && b.Time[i] >= from {
				times[i] += by
				held = true
			}
		}
		if !held {
			return b
		}
		m.did = sentence("stood still for %s from %s on, in %s", clock(by), clock(int64(w.Start)), w.Fault)
		c := *b
		c.Time = times
		return &c
	}
	return m
}

func (c *progress) fork() Checker {
	f := *c
	f.acks = c.acks.fork()
	return &f
}
