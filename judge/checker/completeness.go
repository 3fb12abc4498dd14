package checker

import (
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
)

// quiet is how long a subscriber must have been connected without a delivery, without a
// fault and on a host that runs, before a missing message counts as lost. Brokers repeat
// an unacknowledged message after 5 to 20 s, and deliver nothing else meanwhile.
const quiet = int64(25e9)

// completeness folds the events that say whether anything is missing.
type completeness struct {
	ledger  *ledger
	got     *receipts
	drivers []driver // by process
	markers map[[2]int32]bool
}

// A driver's word on how much it wrote about one process, and how much of that
// arrived.
type driver struct {
	spoke, ended, counted bool
	unseen                bool // it may have written more than arrived
	wrote, arrived        float64
}

func newCompleteness(ctx Context) *completeness {
	return &completeness{ledger: ctx.ledger, got: ctx.receipts, drivers: make([]driver, len(ctx.Tables.Processes)), markers: map[[2]int32]bool{}}
}

func (c *completeness) add(b *history.Batch) {
	rows := c.ledger.rows(b)
	for _, d := range rows.delivered {
		if d.flags.Has(history.FlagEnd) {
			c.markers[[2]int32{b.Process[d.i], b.Stream[d.i]}] = true
		}
	}
	for _, i := range rows.control {
		if p := b.Process[i]; uint32(p) < uint32(len(c.drivers)) {
			c.drivers[p].add(b, int(i))
		}
	}
}

func (d *driver) add(b *history.Batch, i int) {
	switch b.Kind[i] {
	case history.KindConnect:
		d.spoke = true
	case history.KindDriver:
		d.unseen = d.unseen || strings.Contains(b.Text(i), history.LostSight)
	case history.KindEnd:
		d.ended, d.wrote = true, b.Value[i]
	case history.KindObserve:
		if b.Text(i) == history.ObserveDriverLines {
			d.counted, d.arrived = true, b.Value[i]
		}
	}
}

// A closing is what is known of a history only when it is over: before it, nothing
// can be said to be missing.
type closing struct {
	complete Completeness
	waiting  map[[2]int32]string // why a process may not have had all of a stream yet
	unshared map[[2]int32]string // likewise of a group
}

// close returns whether the history is complete, and why not. ended says whether the
// file itself ends in order.
func (c *completeness) close(ended bool) *closing {
	var why []string
	if !ended {
		why = append(why, "the recording was cut off")
	}
	why = append(why, c.unfinished()...)
	why = append(why, c.ledger.sends.wrong...)
	end := &closing{waiting: map[[2]int32]string{}, unshared: map[[2]int32]string{}}
	end.complete = Completeness{Closed: len(why) == 0, Why: some(why), Undrained: some(c.undrained(end))}
	return end
}

func (c *completeness) unfinished() (why []string) {
	for p, d := range c.drivers {
		name := c.ledger.process(int32(p))
		switch {
		case !d.spoke, !d.ended && !d.unseen && d.counted && c.expendable(int32(p)): // killed, and all that it said is there
		case !d.ended:
			why = append(why, sentence("the driver of %s did not end in order", name))
		case !d.counted:
			why = append(why, sentence("the lines of the driver of %s were not counted", name))
		case d.wrote != d.arrived:
			why = append(why, sentence("the driver of %s wrote %.0f lines, %.0f arrived", name, d.wrote, d.arrived))
		}
	}
	return why
}

// expendable reports whether a process does no more than leave wills and receive at QoS
// 0. The rows that such a process did not live to write explain nothing missing
// elsewhere.
func (c *completeness) expendable(p int32) bool {
	l := c.ledger
	_, leavesWill := l.wills.of[p]
	return leavesWill &&
		!slices.ContainsFunc(l.tables.Processes[p].Filters, func(f history.Filter) bool { return f.QoS > 0 }) &&
		!slices.ContainsFunc(l.tables.Streams, func(s history.Stream) bool { return s.Producer == p && !s.Will })
}

// undrained lists the subscribers that may still have had messages to get, and notes
// the streams in end.
func (c *completeness) undrained(end *closing) (why []string) {
	l := c.ledger
	for s := range l.tables.Streams {
		st, row := &l.sends.streams[s], l.tables.Streams[s]
		if ephemeral(row) || st.messages.n == 0 {
			continue
		}
		for p := range l.tables.Processes {
			if reason := c.waiting(int32(p), int32(s), row.Topic); reason != "" {
				why = append(why, reason)
				end.waiting[[2]int32{int32(p), int32(s)}] = reason
			}
		}
	}
	l.shares(func(g, s int32, from int64) {
		if reason := c.unshared(g, s, from); reason != "" {
			why = append(why, reason)
			end.unshared[[2]int32{g, s}] = reason
		}
	})
	return why
}

// unshared says why a group may not have had all of a stream yet: a missing message may
// wait for any of its members.
func (c *completeness) unshared(g, s int32, from int64) string {
	l := c.ledger
	st, members, topic := &l.sends.streams[s], l.members(g), l.topic(s)
	marked := slices.ContainsFunc(members, func(p int32) bool { return c.markers[[2]int32{p, s}] })
	if st.messages.n == 0 {
		return ""
	}
	if !st.marked() && !marked {
		return sentence("the end marker of %s was neither acknowledged nor delivered to a member of %s", topic, l.route.groups[g].filter)
	}
	if !st.lacks(from, c.got.union(members, s)) {
		return ""
	}
	for _, p := range members {
		if reason := c.undrainedOf(p, s, topic); reason != "" {
			return reason
		}
	}
	return ""
}

// waiting says why a process may not have had all of a stream yet. An end marker that
// arrived does not prove that the messages before it arrived: a broker may deliver
// those again later.
func (c *completeness) waiting(p, s int32, topic string) string {
	l := c.ledger
	from := l.owed(p, s)
	if from == never {
		return ""
	}
	st := &l.sends.streams[s]
	if !st.marked() && !c.markers[[2]int32{p, s}] {
		return sentence("the end marker of %s was neither acknowledged nor delivered to %s", topic, l.process(p))
	}
	if !st.lacks(from, c.got.got(p, s)) {
		return ""
	}
	return c.undrainedOf(p, s, topic)
}

// undrainedOf says why a process that lacks messages of a stream may still have
// had them to get, "" where they are lost.
func (c *completeness) undrainedOf(p, s int32, topic string) string {
	l := c.ledger
	session, st := &l.sessions.of[p], &l.sends.streams[s]
	until, drained := session.until(), int64(0)
	if m := st.messages.at(st.end()); m != nil {
		drained = m.called
	}
	if until == never || until < drained {
		return sentence("%s was not connected while %s drained", l.process(p), topic)
	}
	if calm := l.calm(p, max(session.last, session.at, drained), until); calm < quiet {
		return sentence("%s lacks messages of %s and was connected without a delivery for only %s without a fault when the run ended, so they may have been on their way",
			l.process(p), topic, clock(calm))
	}
	return "" // drained
}

// marked reports whether the stream's end marker was acknowledged.
func (st *stream) marked() bool {
	end := st.end()
	return end >= 0 && st.acked.has(end)
}

// lacks reports whether an acknowledged message that was called at from or
// later is not in got.
func (st *stream) lacks(from int64, got *bitmap) (any bool) {
	st.acked.each(st.since(from), got, func(int64) { any = true })
	return any
}

// some are the first of many sentences, each once.
func some(list []string) []string {
	const most = 20
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
		if len(out) == most {
			return append(out, "and more")
		}
	}
	return out
}
