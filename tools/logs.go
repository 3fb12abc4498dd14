package tools

import (
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// LogsAnswer are lines of the nodes' logs.
type LogsAnswer struct {
	Answer
	RunID     string         `json:"run_id"`
	Lines     []LogLine      `json:"lines"`
	Total     int            `json:"total"` // matches in the range
	Levels    map[string]int `json:"levels"`
	Next      string         `json:"next,omitempty"` // pass it as after
	Truncated bool           `json:"truncated"`
}

// A LogLine is one line of a node's log. When it was read is known while the
// run is live; afterwards there is what the broker itself wrote.
type LogLine struct {
	Node  string   `json:"node"`
	AtS   *float64 `json:"at_s,omitempty"`
	Level string   `json:"level,omitempty"`
	Text  string   `json:"text"`
}

const maxLogLine = 500

func (a *agent) getLogs() Tool {
	type span struct {
		From float64 `json:"from_s"`
		To   float64 `json:"to_s"`
	}
	type args struct {
		Level      string `json:"level"`
		Range      span   `json:"time_range"`
		Node       string `json:"node"`
		Match      string `json:"match"`
		Context    int    `json:"context"`
		Limit      int    `json:"limit"`
		After      string `json:"after"`
		Experiment string `json:"experiment"`
	}
	t := Tool{
		Name:        "get_logs",
		Description: "Lines of the brokers' logs, counted by level and paged. Seconds count from the run's start; a finished run's lines have the broker's time.",
		Params: []Param{
			{Name: "level", Type: String, Enum: []string{"error", "warn", "info", "debug"}, About: "that and worse"},
			{Name: "time_range", Type: Object, Example: `{"from_s":10,"to_s":20}`, Fields: []Param{{Name: "from_s", Type: Number}, {Name: "to_s", Type: Number}}},
			{Name: "node", Type: String, Example: `"node-2"`},
			{Name: "match", Type: String, About: "regular expression"},
			{Name: "context", Type: Integer, About: "lines around each match", Min: 0, Max: 20, Example: "3"},
			{Name: "limit", Type: Integer, Min: 1, Max: 500, Default: float64(100), Example: "100"},
			{Name: "after", Type: String, About: "next of an earlier answer"},
			experimentParam(),
		},
		Example: `{"level":"warn","time_range":{"from_s":10}}`,
		Hints:   Hints{ReadOnly: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (LogsAnswer, error) {
		if in.Range.To > 0 && in.Range.To < in.Range.From {
			return LogsAnswer{}, fmt.Errorf("get_logs: time_range ends at %s s, before it begins at %s s; swap them", number(in.Range.To), number(in.Range.From))
		}
		ask := keeper.Logs{Caller: call.Caller, Query: loglines.Query{Node: in.Node, Level: in.Level, Match: in.Match, FromS: in.Range.From, ToS: in.Range.To,
			Context: in.Context, Limit: in.Limit, After: in.After}}
		out, err := a.logs(ctx, call, in.Experiment, ask)
		if err != nil {
			return LogsAnswer{}, err
		}
		for i := range out.Lines {
			out.Lines[i].Text = plain.CutBytes(out.Lines[i].Text, maxLogLine)
		}
		out.Truncated = out.Next != ""
		out.Answer = answer(fmt.Sprintf("%d of %s", len(out.Lines), plural(out.Total, "matching line")))
		if in.Context > 0 {
			out.Summary = fmt.Sprintf("%s; %s with those around them", plural(out.Total, "matching line"), plural(len(out.Lines), "line"))
		}
		switch {
		case out.Next != "":
			out.NextSteps = []string{fmt.Sprintf("get_logs with after %q for more", out.Next), "narrow it with level, match or node"}
		case out.Total == 0:
			out.NextSteps = []string{"widen what narrows it; without level, match, node and time_range get_logs shows everything"}
		}
		return out, nil
	})
}

// logs are a live experiment's, or those that a finished run left.
func (a *agent) logs(ctx context.Context, call *Call, id string, ask keeper.Logs) (LogsAnswer, error) {
	e, err := a.experiment(call, id)
	if err != nil {
		if dir, findErr := a.find(id); id != "" && findErr == nil {
			return recordedLogs(dir, ask)
		}
		if id == "" {
			err = fmt.Errorf("%w; `experiment` takes the run_id of a finished run too", err)
		}
		return LogsAnswer{}, err
	}
	s, err := e.Status(ctx)
	if err != nil {
		return LogsAnswer{}, err
	}
	if ask.Node != "" && !slices.ContainsFunc(s.Nodes, func(n keeper.NodeStatus) bool { return n.Name == ask.Node }) {
		return LogsAnswer{}, noNode(ask.Node, nodeNames(s.Nodes))
	}
	got, err := e.Logs(ctx, ask)
	if err != nil {
		return LogsAnswer{}, err
	}
	out := LogsAnswer{RunID: s.ID, Total: got.Total, Levels: got.Levels, Next: got.Next}
	for _, l := range got.Lines {
		out.Lines = append(out.Lines, LogLine{l.Node, &l.At, l.Level, l.Text})
	}
	return out, nil
}

func noNode(name string, there []string) error {
	return fmt.Errorf("get_logs: no node %q; there are %s", name, joined(there))
}

func nodeNames(list []keeper.NodeStatus) []string {
	names := make([]string, len(list))
	for i, n := range list {
		names[i] = n.Name
	}
	return names
}
