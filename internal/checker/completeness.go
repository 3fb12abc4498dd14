package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// quiet is how long a subscriber must have been connected and been delivered
// nothing, for a missing end marker to mean that it will not come.
const quiet = int64(1e9)

// completeness folds the events that say whether anything is missing.
type completeness struct {
	ledger  *ledger
	drivers []driver // by process
	drain   int64    // when the drain began, or None
	markers map[[2]int32]bool
}

// A driver's word on how much it wrote about one process, and how much of that
// arrived.
type driver struct {
	spoke, ended, counted bool
	wrote, arrived        float64
}

func newCompleteness(l *ledger) *completeness {
	return &completeness{ledger: l, drivers: make([]driver, len(l.tables.Processes)), drain: history.None, markers: map[[2]int32]bool{}}
}

func (c *completeness) add(b *history.Batch) {
	rows := c.ledger.rows(b)
	for _, d := range rows.delivered {
		if d.flags.Has(history.FlagEnd) {
			c.markers[[2]int32{b.Process[d.i], b.Stream[d.i]}] = true
		}
	}
	for _, i := range rows.control {
		p := b.Process[i]
		if uint32(p) < uint32(len(c.drivers)) {
			c.drivers[p].add(b, int(i))
		} else if b.Kind[i] == history.KindPhase && b.Text(int(i)) == "drain" {
			c.drain = b.Time[i]
		}
	}
}

func (d *driver) add(b *history.Batch, i int) {
	switch b.Kind[i] {
	case history.KindConnect:
		d.spoke = true
	case history.KindEnd:
		d.ended, d.wrote = true, b.Value[i]
	case history.KindObserve:
		if b.Text(i) == ObserveDriverLines {
			d.counted, d.arrived = true, b.Value[i]
		}
	}
}

// result answers whether the history is complete. ended says whether the file
// itself ends in order.
func (c *completeness) result(ended bool) Completeness {
	var why []string
	if !ended {
		why = append(why, "the recording was cut off")
	}
	why = append(why, c.unfinished()...)
	why = append(why, c.ledger.sends.wrong...)
	why = append(why, c.undrained()...)
	return Completeness{Closed: len(why) == 0, Why: some(why)}
}

func (c *completeness) unfinished() (why []string) {
	for p, d := range c.drivers {
		name := c.ledger.process(int32(p))
		switch {
		case !d.spoke:
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

// undrained lists the subscribers that may still have had something to get.
func (c *completeness) undrained() (why []string) {
	l := c.ledger
	for s := range l.tables.Streams {
		st, row := &l.sends.streams[s], l.tables.Streams[s]
		if row.Register || row.QoS == 0 || st.messages.n == 0 {
			continue
		}
		end := st.end()
		acked := end >= 0 && st.acked.has(end)
		for p := range l.tables.Processes {
			if reason := c.waiting(int32(p), int32(s), row.Topic, acked); reason != "" {
				why = append(why, reason)
			}
		}
	}
	return why
}

func (c *completeness) waiting(p, s int32, topic string, acked bool) string {
	l := c.ledger
	session := &l.sessions.of[p]
	if c.markers[[2]int32{p, s}] || !l.sessions.persistent(p) || l.route.get(p, s).lossy() || l.sessions.due(p, topic) == never {
		return ""
	}
	until := session.left
	if session.connected {
		until = max(session.ended, session.last)
	}
	switch {
	case !acked:
		return sentence("the end marker of %s was neither acknowledged nor delivered to %s", topic, l.process(p))
	case until == never || c.drain >= 0 && until < c.drain:
		return sentence("%s was not connected while the run drained", l.process(p))
	case until-max(session.last, session.at) < quiet:
		return sentence("%s was still being delivered messages when the run ended, without the end marker of %s", l.process(p), topic)
	}
	return "" // drained, and the marker itself is lost
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
