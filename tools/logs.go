package tools

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/internal/keeper"
)

// LogsAnswer are lines of the nodes' logs.
type LogsAnswer struct {
	Answer
	RunID string `json:"run_id"`
	keeper.LogLines
	Truncated bool `json:"truncated"`
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
		Name:  "get_logs",
		Title: "Read the brokers' logs",
		Description: "Lines of the brokers' logs of a live experiment that match, counted by level and paged. Seconds count from the start of the run, " +
			"as they do in cluster_status and get_run. Of a finished run the logs are files under evidence/logs/ of its directory.",
		Params: []Param{
			{Name: "level", Type: String, Enum: []string{"error", "warn", "info", "debug"}, About: "that and worse"},
			{Name: "time_range", Type: Object, Example: `{"from_s":10,"to_s":20}`, Fields: []Param{{Name: "from_s", Type: Number}, {Name: "to_s", Type: Number}}},
			{Name: "node", Type: String, Example: `"node-2"`},
			{Name: "match", Type: String, About: "regular expression (RE2)"},
			{Name: "context", Type: Integer, About: "lines around each match", Min: 0, Max: 20, Example: "3"},
			{Name: "limit", Type: Integer, Min: 1, Max: 500, Default: float64(100), Example: "100"},
			{Name: "after", Type: String, About: "next of an earlier answer, for more"},
			experimentParam(),
		},
		Example: `{"level":"warn","time_range":{"from_s":10}}`,
		Hints:   Hints{ReadOnly: true, Idempotent: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (LogsAnswer, error) {
		e, err := a.experiment(call, in.Experiment)
		if err != nil {
			return LogsAnswer{}, err
		}
		s, err := e.Status(ctx)
		if err != nil {
			return LogsAnswer{}, err
		}
		lines, err := e.Logs(ctx, keeper.Logs{Node: in.Node, Level: in.Level, Match: in.Match, FromS: in.Range.From, ToS: in.Range.To,
			Context: in.Context, Limit: in.Limit, After: in.After, Caller: call.Caller})
		if err != nil {
			return LogsAnswer{}, err
		}
		for i := range lines.Lines {
			lines.Lines[i].Text = shorten(lines.Lines[i].Text, maxLogLine)
		}
		out := LogsAnswer{RunID: s.ID, LogLines: lines, Truncated: lines.Next != ""}
		out.Answer = answer(fmt.Sprintf("%d of %s", len(lines.Lines), plural(lines.Total, "matching line")))
		switch {
		case lines.Next != "":
			out.NextSteps = []string{fmt.Sprintf("get_logs with after %q for more", lines.Next), "narrow it with level, match, node or time_range"}
		case lines.Total == 0:
			out.NextSteps = []string{"widen level or time_range; without arguments get_logs shows everything"}
		}
		return out, nil
	})
}
