package checker

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSteadyResources = Entry{
	Claim: verdict.Claim{Name: "steady-resources", Severity: verdict.P2,
		Text:   "Under a load that stays the same no node takes more and more: memory, open descriptors, connections of clients and the time until it acknowledges grow no faster than the scenario bounds (growth).",
		Source: verdict.Budget},
	Category: Operational, Checker: "steady@2", Protocols: mqtt, New: newSteady, Bounded: true, canary: growMemory,
	Sees: history.LacksResources, Plain: true,
}

// steady judges that the resources of each node do not grow under an even load: memory,
// descriptors, connections, and the time until it acknowledges. The load is even in the
// steady phase. Its first quarter, and half an hour at most, is left out: until then
// caches fill, pools grow and code is read for the first time. Growth is accused only
// where the whole confidence interval of its slope ([slopeOf]) is above the budget, and
// it came to more than its floor meanwhile. A quantity that may still grow faster than
// the budget, by more than the floor, is unknown. So is latency that the host or the
// load may explain ([steady.excuse]). A quantity without a budget is shown and not
// judged.
type steady struct {
	ledger   *ledger
	growth   history.Growth
	tier     string
	from, to int64 // of the steady phase, or None
	last     int64 // time
	read     map[series][]reading
	acks     map[int16][]latency // by node, of each second
}

// A series is one metric at one node.
type series struct {
	metric string
	node   int16
}

// A latency is the sum of the logarithms of n latencies, for their geometric mean: a
// few that waited long say nothing of all others.
type latency struct {
	sum float64
	n   int64
}

// The longest warm-up, and the longest run of which each second has a place.
const (
	warmUp     = 1800 * second
	maxSeconds = 7 * 24 * 3600
)

func newSteady(ctx Context) Checker {
	return &steady{
		ledger: ctx.ledger, growth: ctx.Run.Budget.Growth, tier: ctx.Run.Tier, from: history.None, to: history.None,
		read: map[series][]reading{}, acks: map[int16][]latency{},
	}
}

func (c *steady) fork() Checker {
	f := *c
	f.read, f.acks = maps.Clone(c.read), maps.Clone(c.acks)
	for k, list := range c.read {
		f.read[k] = slices.Clip(list) // neither sees the additions of the other
	}
	for k, list := range c.acks {
		f.acks[k] = slices.Clone(list)
	}
	return &f
}

func (c *steady) Add(b *history.Batch) {
	rows := c.ledger.rows(b)
	for _, i := range rows.control {
		c.control(b, int(i))
	}
	for _, i := range rows.published {
		if b.QoS[i] > 0 && acknowledged(b, int(i)) && b.Node[i] >= 0 && c.ledger.works(b.Stream[i]) {
			c.acknowledged(b, int(i))
		}
	}
}

func (c *steady) control(b *history.Batch, i int) {
	c.last = max(c.last, b.Time[i])
	switch b.Kind[i] {
	case history.KindPhase:
		if c.from >= 0 && c.to < 0 {
			c.to = b.Time[i]
		}
		if c.from < 0 && b.Text(i) == history.PhaseSteady {
			c.from = b.Time[i]
		}
	case history.KindObserve:
		if observed(b, i) != nil {
			k := series{b.Text(i), b.Node[i]}
			c.read[k] = append(c.read[k], reading{b.Time[i], b.Value[i]})
		}
	}
}

func (c *steady) acknowledged(b *history.Batch, i int) {
	m := c.ledger.sends.find(b.Stream[i], b.Seq[i])
	at, n := b.Time[i]/second, b.Node[i]
	if m == nil || m.call == 0 || at < 0 || at >= maxSeconds {
		return
	}
	list := c.acks[n]
	if at >= int64(len(list)) {
		list = append(list, make([]latency, at+1-int64(len(list)))...)
		c.acks[n] = list
	}
	list[at].sum += math.Log(float64(max(1, b.Time[i]-m.called)))
	list[at].n++
}

// of are the samples of a quantity at a node, and of which metric they are.
func (c *steady) of(q *quantity, node int16) (list []reading, metric string) {
	for _, metric := range q.metrics {
		if list := c.read[series{metric, node}]; len(list) > 0 {
			return list, metric
		}
	}
	if n := len(q.metrics); n > 0 {
		return nil, q.metrics[n-1] // which every system has, if any
	}
	for at, l := range c.acks[node] {
		if l.n > 0 {
			list = append(list, reading{int64(at)*second + second/2, math.Exp(l.sum / float64(l.n))})
		}
	}
	return list, ""
}

func (c *steady) Result(*closing) verdict.Result {
	nodes := int16(len(c.ledger.tables.Nodes))
	switch {
	case c.growth == history.Growth{}:
		return unjudged("the scenario sets no bound on growth (growth)")
	case c.from < 0:
		return unjudged("no steady phase began")
	case nodes == 0:
		return unjudged("no node is known")
	}
	to := c.to
	if to < 0 {
		to = c.last
	}
	from := c.from + min((to-c.from)/4, warmUp)
	var found findings
	var trends []verdict.Trend
	var unsure []string
	var all int64 // that are judged
	for i := range quantities {
		group := make([]verdict.Trend, nodes)
		for n := range nodes {
			group[n] = c.trend(&quantities[i], n, from, to)
		}
		if len(quantities[i].metrics) == 0 {
			c.excuse(group, from, to)
		}
		trends = append(trends, group...)
		for _, t := range group {
			if t.Status != "" {
				all++
			}
			switch t.Status {
			case verdict.Fail:
				found.add(c.grew(t))
			case verdict.Unknown:
				unsure = append(unsure, t.Why)
			}
		}
	}
	r := found.judged(all, map[string]int64{"trends": all, "growing": found.total, "unsure": int64(len(unsure))}, "")
	r.Trends = trends
	switch {
	case r.Status == verdict.Fail:
		r.Summary = summary("%d of %d trends grow faster than their budget, the first: %s", found.total, all, r.Anomalies[0].Text)
	case len(unsure) > 0:
		r.Status, r.Reasons = verdict.Unknown, unsure
		r.Summary = summary("of %d trends %d are undecided, the first: %s", all, len(unsure), unsure[0])
	default:
		r.Summary = summary("nothing grew faster than its budget from %s to %s at %d nodes; %s", clock(from), clock(to), nodes, c.seen(trends))
	}
	return r
}

// trend judges one quantity at one node.
func (c *steady) trend(q *quantity, node int16, from, to int64) verdict.Trend {
	list, metric := c.of(q, node)
	t := verdict.Trend{
		Quantity: q.name, Metric: metric, Node: c.ledger.node(node), FromNS: from, ToNS: to, Unit: q.unit, PerHour: q.rate,
		Levels: []float64{}, Budget: q.budget(c.growth), Status: verdict.Unknown,
	}
	var most float64
	for _, r := range list {
		if from <= r.t && r.t < to {
			t.Samples++
			most = max(most, r.v)
		}
	}
	s, ok := slopeOf(list, from, to)
	if t.Budget == 0 {
		t.Status, t.Why = "", "the scenario sets no bound on it"
	}
	if !ok {
		if t.Budget == 0 {
			return t
		}
		t.Why = sentence("%s of %s was read %d times from %s to %s, and has to be %d times in each of %d parts of that time: %s", q.name, t.Node, t.Samples, clock(from), clock(to), leastReadings, parts, c.more(t))
		return t
	}
	hour, lasted := 3600e9*q.scale, float64(to-from)/3600e9
	unit := 1.0 // one unit of the rate, in the level's unit
	if q.percent {
		unit = median(slices.Clone(s.levels)) * q.scale / 100
	}
	t.Slope, t.Low, t.High = s.at*hour/unit, s.low*hour/unit, s.high*hour/unit
	grew, may := t.Slope*unit*lasted, t.High*unit*lasted
	above := t.Low > t.Budget && grew > q.floor
	below := t.High <= t.Budget || may <= q.floor
	for _, v := range s.levels {
		t.Levels = append(t.Levels, rounded(v*q.scale))
	}
	t.Slope, t.Low, t.High = rounded(t.Slope), rounded(t.Low), rounded(t.High)
	switch {
	case t.Budget == 0:
	case most == 0:
		t.Why = sentence("%s of %s was read as 0 throughout, and no node that serves has none: %s may be read at another port or in another namespace; compare it with get_metrics while clients are connected", q.name, t.Node, metric)
	case above:
		t.Status = verdict.Fail
	case below:
		t.Status = verdict.Pass
	default:
		t.Why = sentence("%s of %s may grow by up to %s, budget %s: the %s that were judged are too short to tell; %s", q.name, t.Node, told(t.High, q.rate), told(t.Budget, q.rate), clock(to-from), c.more(t))
	}
	return t
}

// more says how to get more readings for a trend.
func (c *steady) more(t verdict.Trend) string {
	switch {
	case t.Samples == 0 && t.Metric == "":
		return "publish with QoS 1 or 2 through each node"
	case t.Samples == 0:
		return sentence("see whether get_metrics has %s while an experiment runs", t.Metric)
	case c.tier == "hardening":
		return "run it with --tier release"
	case c.tier == "release":
		return "give its tier release a longer steady_s"
	}
	return "run it with --tier hardening or release"
}

// excuse makes growth of latency unknown where it may come from the host or the load.
// That is so if the host stood still meanwhile, or if no other node grew less by more
// than the budget. The nodes of one cluster share both.
func (c *steady) excuse(group []verdict.Trend, from, to int64) {
	stood := c.ledger.still(from, to)
	for i := range group {
		t := &group[i]
		why := ""
		switch {
		case t.Status != verdict.Fail:
			continue
		case stood >= 0:
			why = c.ledger.stills[stood].String()
		case !slices.ContainsFunc(group, func(o verdict.Trend) bool { return len(o.Levels) > 0 && t.Low-o.High > t.Budget }):
			why = "no other node is seen to have grown less by more than the budget, and all share the host and the load"
		default:
			continue
		}
		t.Status = verdict.Unknown
		t.Why = sentence("%s of %s grew by %s, budget %s, but %s: run it again on a host that does nothing else", t.Quantity, t.Node, told(t.Slope, t.PerHour), told(t.Budget, t.PerHour), why)
	}
}

func (c *steady) grew(t verdict.Trend) verdict.Anomaly {
	n := len(t.Levels) - 1
	return verdict.Anomaly{
		Kind: "growth", Process: history.None, Stream: history.None, Seq: history.None, TimeNS: t.FromNS, Events: []int64{},
		Text: sentence("%s of %s grew by %s (99 %% confidence: %s to %s), budget %s; from %s to %s", t.Quantity, t.Node,
			told(t.Slope, t.PerHour), told(t.Low, t.PerHour), told(t.High, t.PerHour), told(t.Budget, t.PerHour), told(t.Levels[0], t.Unit), told(t.Levels[n], t.Unit)),
	}
}

// seen says what growth a run like this tells from none: half the width of the
// widest interval of each quantity.
func (c *steady) seen(trends []verdict.Trend) string {
	text := "such a run tells growth from none from this on:"
	for i := range quantities {
		q, widest := &quantities[i], 0.0
		for _, t := range trends {
			if t.Quantity == q.name {
				widest = max(widest, (t.High-t.Low)/2)
			}
		}
		if i > 0 {
			text += ","
		}
		text += sentence(" %s %s", q.name, told(rounded(widest), q.rate))
	}
	return text
}

// told is a value with its unit.
func told(v float64, unit string) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if unit == "" || unit[0] == '/' {
		return text + unit
	}
	return text + " " + unit
}

// rounded has three digits: more would be no information, and the last ones
// differ from machine to machine.
func rounded(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return r
}

// growMemory has every node take more by the second, of all that is observed, from the
// first reading on.
func growMemory(ctx Context) *mutation {
	m := &mutation{idle: "neither memory nor descriptors nor connections of a node were read"}
	began := map[series]int64{}
	m.apply = func(b *history.Batch) *history.Batch {
		out := b
		for _, i := range ctx.ledger.rows(b).control {
			q := observed(b, int(i))
			if q == nil {
				continue
			}
			k := series{b.Text(int(i)), b.Node[i]}
			if _, known := began[k]; !known {
				began[k] = b.Time[i]
			}
			if out == b {
				copied := *b
				copied.Value = slices.Clone(b.Value[:b.N])
				out = &copied
			}
			// So much each second that no interval around what was read reaches down to the budget.
			by := (q.floor + q.budget(ctx.Run.Budget.Growth)) / q.scale
			out.Value[i] += by * float64(b.Time[i]-began[k]) / 1e9
			m.did = "had every node take more by the second"
		}
		return out
	}
	return m
}
