package tools

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// MetricsAnswer are the nodes' metrics, summarized.
type MetricsAnswer struct {
	Answer
	RunID string `json:"run_id"`
	keeper.MetricsAnswer
	Truncated bool `json:"truncated"`
}

// maxMetrics and maxPoints keep an answer within what a host shows its model.
const (
	maxMetrics = 60
	maxPoints  = 60
)

func (a *agent) getMetrics() Tool {
	type args struct {
		Node       string   `json:"node"`
		Names      []string `json:"names"`
		Series     bool     `json:"series"`
		Experiment string   `json:"experiment"`
	}
	t := Tool{
		Name:        "get_metrics",
		Description: "Metrics of a live experiment's nodes: now, and their range before, during and after the faults. The first 60 unless named.",
		Params: []Param{
			{Name: "node", Type: String, Example: `"node-2"`},
			{Name: "names", Type: Array, Items: String, About: "regular expressions", Example: `["connections"]`},
			{Name: "series", Type: Boolean, About: "values over time, too"},
			experimentParam(),
		},
		Example: `{"node":"node-2"}`,
		Hints:   Hints{ReadOnly: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (MetricsAnswer, error) {
		e, err := a.experiment(call, in.Experiment)
		if err != nil {
			return MetricsAnswer{}, err
		}
		s, err := e.Status(ctx)
		if err != nil {
			return MetricsAnswer{}, err
		}
		got, err := e.Metrics(ctx, keeper.Metrics{Node: in.Node, Names: in.Names, Series: in.Series, Caller: call.Caller})
		if err != nil {
			return MetricsAnswer{}, err
		}
		out := MetricsAnswer{RunID: s.ID, MetricsAnswer: got}
		if len(out.Metrics) > maxMetrics {
			out.Left += len(out.Metrics) - maxMetrics
			out.Metrics = out.Metrics[:maxMetrics]
		}
		for i := range out.Metrics {
			out.Metrics[i].Series = thin(out.Metrics[i].Series, maxPoints)
		}
		out.Truncated = out.Left > 0
		out.Answer = answer(fmt.Sprintf("%s, %d left out", plural(len(out.Metrics), "metric"), out.Left))
		switch {
		case out.Truncated:
			out.NextSteps = []string{"get_metrics with names or node to choose others"}
		case len(out.Metrics) == 0 && len(in.Names) > 0:
			out.NextSteps = []string{"get_metrics without names shows what there is"}
		case len(out.Metrics) == 0:
			out.NextSteps = []string{"get_metrics again: nodes are measured each second once they serve"}
		}
		return out, nil
	})
}

// thin keeps at most n points, evenly, the last among them.
func thin(series [][2]float64, n int) [][2]float64 {
	if len(series) <= n {
		return series
	}
	out := make([][2]float64, n)
	for i := range out {
		out[i] = series[i*(len(series)-1)/(n-1)]
	}
	return out
}
