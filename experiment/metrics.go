package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
)

const metricsShown = 60

// Metrics summarizes what was measured on the nodes until now: each metric
// before the first fault, during the faults, and after the last one.
func (e *Experiment) Metrics(_ context.Context, q keeper.Metrics) (keeper.MetricsAnswer, error) {
	out := keeper.MetricsAnswer{Metrics: []keeper.Metric{}}
	wanted, err := patterns(q.Names)
	if err != nil {
		return out, err
	}
	if q.Node != "" {
		if _, err := e.started(); err != nil {
			return out, fmt.Errorf("get_metrics: %w", err)
		}
		if _, err := e.stage.node(q.Node); err != nil {
			return out, fmt.Errorf("get_metrics: %w", err)
		}
	}
	if err := e.rec.Sync(); err != nil {
		return out, err
	}
	r, err := history.Open(e.evidence())
	if err != nil {
		return out, err
	}
	defer r.Close()
	f := metricsFold{q: q, wanted: wanted, windows: history.Windows(e.landings()), found: map[metricKey]*keeper.Metric{}}
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, err
		}
		f.add(b, r.Tables())
	}
	return f.answer(), nil
}

func patterns(names []string) ([]*regexp.Regexp, error) {
	var out []*regexp.Regexp
	for _, n := range names {
		re, err := regexp.Compile(n)
		if err != nil {
			return nil, fmt.Errorf("get_metrics: name %q is no regular expression: %w", n, err)
		}
		out = append(out, re)
	}
	return out, nil
}

type metricKey struct {
	node int16
	name string
}

type metricsFold struct {
	q       keeper.Metrics
	wanted  []*regexp.Regexp
	windows []history.Window
	found   map[metricKey]*keeper.Metric
}

func (f *metricsFold) add(b *history.Batch, t *history.Tables) {
	for i := range b.N {
		if b.Kind[i] != history.KindObserve || b.Node[i] == history.None {
			continue
		}
		node, name := t.Nodes[b.Node[i]].Name, b.Text(i)
		if f.q.Node != "" && f.q.Node != node || !f.matches(name) {
			continue
		}
		k := metricKey{b.Node[i], name}
		m := f.found[k]
		if m == nil {
			m = &keeper.Metric{Node: node, Name: name}
			f.found[k] = m
		}
		f.take(m, time.Duration(b.Time[i]), b.Value[i])
	}
}

func (f *metricsFold) matches(name string) bool {
	for _, re := range f.wanted {
		if re.MatchString(name) {
			return true
		}
	}
	return len(f.wanted) == 0
}

func (f *metricsFold) take(m *keeper.Metric, at time.Duration, v float64) {
	m.Now = v
	if f.q.Series {
		m.Series = append(m.Series, [2]float64{at.Seconds(), v})
	}
	r := &m.Before
	for _, w := range f.windows {
		if at >= w.Start && (w.End == 0 || at < w.End) {
			r = &m.During
			break
		}
		if at >= w.End {
			r = &m.After
		}
	}
	if *r == nil {
		*r = &keeper.Range{Min: v, Max: v}
	}
	(*r).Min, (*r).Max, (*r).Last = min((*r).Min, v), max((*r).Max, v), v
}

func (f *metricsFold) answer() keeper.MetricsAnswer {
	out := keeper.MetricsAnswer{Metrics: []keeper.Metric{}}
	for _, m := range f.found {
		out.Metrics = append(out.Metrics, *m)
	}
	sort.Slice(out.Metrics, func(i, j int) bool {
		a, b := out.Metrics[i], out.Metrics[j]
		return a.Node < b.Node || a.Node == b.Node && a.Name < b.Name
	})
	if len(out.Metrics) > metricsShown {
		out.Left = len(out.Metrics) - metricsShown
		out.Metrics = out.Metrics[:metricsShown]
	}
	return out
}
