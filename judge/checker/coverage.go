package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// coverage folds how much load there was, and when.
type coverage struct {
	ledger  *ledger
	probe   []bool // streams of probes, which are no load
	acks    timeline
	phases  []phase
	first   int64 // call of a publish
	last    int64 // publish
	starved float64
	events  int64
	works   map[int]*work // by run_client
	exits   exitLog
	ended   []string
	gone    []string
	goneAt  int64 // when the first of ours under a node was gone; never
	stood   []string
	stoodAt int64  // when the first driver stood still; never
	planted *int64 // how often a planted defect showed
}

// A work is the time in which the messages of one run_client were on their way:
// from its first publish until its last client has ended, or for ever.
type work struct{ from, to int64 }

type phase struct {
	name string
	at   int64
}

func newCoverage(l *ledger) *coverage {
	c := &coverage{ledger: l, probe: make([]bool, len(l.tables.Streams)), first: never, goneAt: never, stoodAt: never, works: map[int]*work{}}
	for i, s := range l.tables.Streams {
		c.probe[i] = uint32(s.Producer) < uint32(len(l.tables.Processes)) && l.tables.Processes[s.Producer].Group == history.GroupProbe
	}
	return c
}

func (c *coverage) add(b *history.Batch) {
	c.events += int64(b.N)
	rows := c.ledger.rows(b)
	for _, i := range rows.published {
		s := b.Stream[i]
		if uint32(s) >= uint32(len(c.probe)) || c.probe[s] {
			continue
		}
		c.first, c.last = min(c.first, b.Time[i]), max(c.last, b.Time[i])
		if b.Edge[i] == history.Call && b.Seq[i] == 0 {
			w := c.work(b.Process[i])
			w.from = min(w.from, b.Time[i])
		}
		if acknowledged(b, int(i)) {
			c.acks.add(b.Time[i], b.Index[i])
		}
	}
	c.exits.add(c.ledger, b, c.end)
	for _, i := range rows.control {
		switch b.Kind[i] {
		case history.KindEnd:
			w := c.work(b.Process[i])
			w.to = max(w.to, b.Time[i])
		case history.KindPhase:
			c.phases = append(c.phases, phase{b.Text(int(i)), b.Time[i]})
		case history.KindDriver:
			if b.Outcome[i] == history.Fail {
				c.gone = append(c.gone, sentence("the driver of %s, a process of rmq-mcp, was gone at %s, by no doing of the broker: %s", c.ledger.process(b.Process[i]), clock(b.Time[i]), b.Text(int(i))))
			}
		case history.KindObserve:
			if b.Process[i] == history.None && b.Node[i] == history.None && b.Text(int(i)) == history.ObserveStarved {
				c.starved += b.Value[i]
			}
			switch b.Text(int(i)) {
			case history.ObserveDiskGone:
				c.diskGone(b, int(i))
			case history.ObserveDriverStill:
				s := c.ledger.stillOf(b, int(i))
				c.stoodAt, c.stood = min(c.stoodAt, s.from), append(c.stood, s.String())
			case history.ObserveWitnessGone:
				c.ended = append(c.ended, sentence("the witness, a process of rmq-mcp, was gone at %s: the time that faults took from then on is not the broker's doing", clock(b.Time[i])))
			case history.ObservePlanted:
				shown := int64(b.Value[i])
				c.planted = &shown
			}
		}
	}
}

// end notes a process that neither we nor its broker ended.
func (c *coverage) end(e exit) {
	node, at := c.ledger.node(e.node), clock(e.at)
	switch e.cause {
	case byKernel:
		c.ended = append(c.ended, sentence("at %s the kernel ended the process of %s, as there was no memory for it", at, node))
	case byStranger:
		c.ended = append(c.ended, sentence("at %s the process of %s ended (%s) by no fault of this run: another process ended it", at, node, e.how()))
	case byNobody:
		c.ended = append(c.ended, sentence("at %s the process of %s ended by no fault of this run, and only its parent knows how", at, node))
	}
}

// diskGone notes that a layer of ours under a node's data was gone.
func (c *coverage) diskGone(b *history.Batch, i int) {
	c.goneAt = min(c.goneAt, b.Time[i]-int64(b.Value[i]*1e9))
	c.gone = append(c.gone, sentence("the disk layer of %s, a process of rmq-mcp, was gone at %s, by no doing of the broker", c.ledger.node(b.Node[i]), clock(b.Time[i])))
}

// work returns the work of the run_client call that started a process.
func (c *coverage) work(process int32) *work {
	run := history.None
	if uint32(process) < uint32(len(c.ledger.tables.Processes)) && !c.ledger.route.probed(process) {
		run = c.ledger.tables.Processes[process].Run
	}
	if c.works[run] == nil {
		c.works[run] = &work{from: never}
	}
	return c.works[run]
}

// published returns for how long clients published during a silence: by hand, nothing is published
// between two calls of run_client.
func (c *coverage) published(s silence) (longest int64) {
	for run, w := range c.works {
		to := s.to
		if run != history.None && w.to > 0 {
			to = min(to, w.to)
		}
		longest = max(longest, to-max(s.from, w.from))
	}
	return longest
}

// idle are the faults that disturbed nothing: no message was on its way.
func (c *coverage) idle() (faults []string) {
	for _, w := range c.ledger.windows {
		busy := false
		for run, work := range c.works {
			busy = busy || run != history.None && work.from <= int64(w.End) && (work.to == 0 || int64(w.Start) <= work.to)
		}
		if !busy {
			faults = append(faults, w.Fault)
		}
	}
	return faults
}

func (c *coverage) result() verdict.Coverage {
	end := c.drained()
	out := verdict.Coverage{HostStarvedS: c.starved, Recorded: c.events, FaultPerS: c.rate(history.PhaseFault, 0, end), Idle: c.idle(), Ended: c.ended, Gone: slices.Concat(c.gone, c.stood), PlantShown: c.planted}
	out.SteadyPerS = c.rate(history.PhaseSteady, 0, end)
	out.BeforePerS = c.rate(history.PhaseSteady, 0.5, end)
	out.AfterPerS = c.rate(history.PhaseRecovery, 0.5, end)
	c.acks.silences(end, func(s silence) { out.LongestGapS = max(out.LongestGapS, float64(c.published(s))/1e9) })
	if end > c.first {
		out.DurationS = float64(end-c.first) / 1e9
	}
	load := c.load()
	out.Acked = load.acked
	if load.called > 0 {
		out.Indeterminate = float64(load.unknown) / float64(load.called)
	}
	return out
}

// A tally counts publishes of clients. The broker acknowledges no QoS 0.
type tally struct{ sent, called, acked, unknown int64 }

// load counts what the workload published: no probes, and no wills, which no client published.
func (c *coverage) load() (n tally) {
	for i := range c.ledger.sends.streams {
		row, st := c.ledger.tables.Streams[i], &c.ledger.sends.streams[i]
		if row.Will || c.probe[i] {
			continue
		}
		n.sent += st.calls
		if row.QoS > 0 {
			n.called += st.calls
			n.acked += st.outcomes[history.OK]
			n.unknown += st.calls - st.outcomes[history.OK] - st.outcomes[history.Fail]
		}
	}
	return n
}

// drained returns when publishing ended: the beginning of the drain, or else the last
// publish.
func (c *coverage) drained() int64 {
	for _, p := range c.phases {
		if p.name == history.PhaseDrain {
			return p.at
		}
	}
	return c.last
}

// rate is the acknowledged publishes per second over all phases of a name,
// leaving out the first part of each, a share of it.
func (c *coverage) rate(name string, skip float64, end int64) float64 {
	var time, count float64
	for i, p := range c.phases {
		if p.name != name {
			continue
		}
		to := end
		if i+1 < len(c.phases) {
			to = c.phases[i+1].at
		}
		from := p.at + int64(skip*float64(to-p.at))
		length := float64(to-from) / 1e9
		time += length
		count += c.acks.perSecond(from, to) * length
	}
	if time <= 0 {
		return 0
	}
	return count / time
}

// totals reconciles the whole run.
func (c *coverage) totals(all *losses, end *closing) verdict.Totals {
	load := c.load()
	t := verdict.Totals{Sent: load.sent, Acked: load.acked, Unknown: load.unknown}
	counts := all.subscribers.Result(end).Counts
	t.Received, t.Duplicated, t.Recovered = counts["delivered"], counts["duplicated"], counts["recovered"]
	all.each(end, func(miss) { t.Lost++ })
	return t
}
