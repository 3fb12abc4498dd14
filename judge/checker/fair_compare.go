package checker

import (
	"cmp"
	"math"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// groups returns the processes with anything in a table, by group and node.
func (c *fair) groups(took []served) (list [][]int32) {
	at := map[string]int{}
	for p := range c.bad {
		own := took[p*len(c.times) : (p+1)*len(c.times)]
		if !slices.ContainsFunc(own, func(s served) bool { return s.n > 0 }) {
			continue
		}
		name := c.name(int32(p))
		if _, known := at[name]; !known {
			at[name], list = len(list), append(list, nil)
		}
		list[at[name]] = append(list[at[name]], int32(p))
	}
	return list
}

// name is a process's group: what it does, and where.
func (c *fair) name(p int32) string {
	group := c.ledger.tables.Processes[p].Group
	if c.node[p] < 0 {
		return group
	}
	return group + " at " + c.ledger.node(c.node[p])
}

// figures returns the figures of some processes in a stretch.
func (c *fair) figures(of []int32, took []served, k int) verdict.Figures {
	var all served
	for _, p := range of {
		s := &took[int(p)*len(c.times)+k]
		all.join(s.latencies)
		all.came += s.came
	}
	return verdict.Figures{
		Messages: all.n, PerS: round(float64(all.came) / c.length(k)),
		P50MS: round(float64(all.quantile(0.5)) / 1e6), P99MS: round(float64(all.quantile(0.99)) / 1e6),
	}
}

// round keeps three digits behind the point, which is more than is known.
func round(v float64) float64 { return math.Round(v*1000) / 1000 }

// length returns how many seconds a stretch lasted, up to the drain.
func (c *fair) length(k int) float64 {
	s := c.times[k]
	return max(float64(min(s.to, c.drain, c.end)-s.from), 1) / 1e9
}

// stood returns how many seconds the host stood still between two times.
func (c *fair) stood(from, to int64) float64 { return float64(c.ledger.stood(from, to)) / 1e9 }

// explained reports whether a host that stood still may explain how a group was served
// in a stretch. Messages that waited meanwhile are given the same time again.
func (c *fair) explained(g verdict.Group, k int) bool {
	lost := 2 * c.stood(c.times[k].from, min(c.times[k].to, c.drain, c.end)) / c.length(k)
	late := 2 * c.stood(c.times[k].from, c.end) * 1000
	return (!c.tailed(g) || g.During.P99MS <= c.limit(g.Before)+late) && g.During.PerS >= c.bound.Share*g.Before.PerS*(1-lost)
}

// compare compares a group in a stretch with itself before. why says why that cannot be
// decided, "" if it can.
func (c *fair) compare(of string, group []int32, took []served, k int) (out verdict.Group, why string) {
	f := c.times[k].fault
	out = verdict.Group{
		Name: c.name(group[0]), Of: of, Clients: len(group), Fault: called(f),
		Before: c.figures(group, took, 0), During: c.figures(group, took, k),
	}
	slow := c.tailed(out) && out.During.P99MS > c.limit(out.Before)
	few := out.During.PerS < c.bound.Share*out.Before.PerS
	client := c.worst(group, took, k, slow)
	out.Worst, out.WorstP99MS = c.ledger.process(client), c.figures([]int32{client}, took, k).P99MS
	expected := int64(out.Before.PerS * c.length(k))
	switch least := c.bound.Messages; {
	case out.Before.Messages < least || expected < least:
		return out, sentence("too few messages: %s of %s, %d before %s and %d to be expected in it, of %d that it takes; raise rate_per_s, or steady_s and fault_s", of, out.Name, out.Before.Messages, out.Fault, expected, least)
	case out.During.Messages < least && !few:
		return out, sentence("too few messages: %s of %s, %d in %s, of %d that it takes; raise rate_per_s or fault_s", of, out.Name, out.During.Messages, out.Fault, least)
	}
	if out.Slowed = slow || few; out.Slowed && c.explained(out, k) {
		return out, sentence("the host or a process of rmq-mcp stood still for %.1f s from the beginning of %s on, which may be why %s of %s took so long; run it again on a less busy machine", c.stood(c.times[k].from, c.end), out.Fault, of, out.Name)
	}
	return out, ""
}

// tailed reports whether a group has enough messages to compare its 99th percentiles.
func (c *fair) tailed(g verdict.Group) bool {
	return min(g.Before.Messages, g.During.Messages) >= max(c.bound.Messages, tail)
}

// limit returns the bound on the 99th percentile, in milliseconds.
func (c *fair) limit(before verdict.Figures) float64 {
	return max(c.bound.Times*before.P99MS, c.bound.FloorS*1000)
}

// worst returns the client of a group with the longest latencies, or with the fewest
// messages if the latencies are as they should be.
func (c *fair) worst(group []int32, took []served, k int, slow bool) int32 {
	return slices.MaxFunc(group, func(p, q int32) int {
		a, b := &took[int(p)*len(c.times)+k], &took[int(q)*len(c.times)+k]
		if slow {
			return cmp.Or(cmp.Compare(a.quantile(0.99), b.quantile(0.99)), cmp.Compare(b.came, a.came))
		}
		return cmp.Or(cmp.Compare(b.came, a.came), cmp.Compare(a.quantile(0.99), b.quantile(0.99)))
	})
}

func (c *fair) slowed(g verdict.Group, group []int32, took []served, k int) verdict.Anomaly {
	slow := slices.MaxFunc(group, func(p, q int32) int {
		return cmp.Compare(took[int(p)*len(c.times)+k].max, took[int(q)*len(c.times)+k].max)
	})
	s := &took[int(slow)*len(c.times)+k]
	a := verdict.Anomaly{
		Kind: "slowed", Process: slow, Stream: history.None, Seq: history.None, TimeNS: c.times[k].from, Fault: c.times[k].fault.Fault, Events: []int64{},
		Text: sentence("%s of %s while %s was in place: %s a second and 99%% within %s, before it %s a second and within %s; allowed are %s a second and %s; the worst is %s",
			g.Of, g.Name, g.Fault, number(g.During.PerS), millis(g.During.P99MS), number(g.Before.PerS), millis(g.Before.P99MS),
			number(c.bound.Share*g.Before.PerS), millis(c.limit(g.Before)), g.Worst),
	}
	if s.n > 0 {
		a.Stream, a.Seq, a.Events = s.stream, s.seq, events(s.row)
	}
	return a
}

func millis(ms float64) string { return clock(int64(ms * 1e6)) }

func number(v float64) string { return sentence("%.1f", v) }
