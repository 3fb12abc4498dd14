package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports"
)

// RunsAnswer are stored runs, the newest first.
type RunsAnswer struct {
	Answer
	Runs []RunLine `json:"runs"`
	Left int       `json:"left_out"` // runs that did not fit
}

// A RunLine is one stored run.
type RunLine struct {
	RunID    string    `json:"run_id"`
	Scenario string    `json:"scenario,omitempty"` // none: explored by hand
	SDK      string    `json:"sdk"`
	Broker   string    `json:"broker"`
	Started  time.Time `json:"started"`
	Headline string    `json:"headline"` // begins with the state
}

// headlineShown is how much of a run's headline a list shows.
const headlineShown = 140

func (a *agent) listRuns() Tool {
	type args struct {
		Scenario string `json:"scenario"`
		Protocol string `json:"protocol"`
		State    string `json:"state"`
		Limit    int    `json:"limit"`
	}
	t := Tool{
		Name:        "list_runs",
		Description: "Stored runs, the newest first: scenario, SDK, broker, verdict.",
		Params: []Param{
			{Name: "scenario", Type: String, Example: `"mqtt/broker-kill-9"`},
			{Name: "protocol", Type: String},
			{Name: "state", Type: String, About: "FAIL, or a whole one", Example: `"FAIL"`},
			{Name: "limit", Type: Integer, Min: 1, Max: 200, Default: float64(20), Example: "20"},
		},
		Example: `{"state":"FAIL"}`,
		Hints:   Hints{ReadOnly: true},
	}
	return handler(t, func(_ context.Context, _ *Call, in args) (RunsAnswer, error) {
		asked := reports.Filter{Scenario: in.Scenario, Protocol: in.Protocol, State: in.State}
		rows, err := a.backend.Runs(asked)
		if err != nil {
			return RunsAnswer{}, fmt.Errorf("list the runs: %w", err)
		}
		var lines []RunLine
		for _, r := range rows[:min(len(rows), in.Limit)] {
			lines = append(lines, runLine(r))
		}
		out := RunsAnswer{Runs: fitting(lines, answerBytes)}
		out.Left = len(rows) - len(out.Runs)
		out.Answer = answer(plural(len(rows), "run"), "get_run with one's run_id", "compare_runs with several")
		switch {
		case len(rows) == 0 && asked == (reports.Filter{}):
			out.Answer = answer("no run is stored", "run_scenario makes one")
		case len(rows) == 0:
			out.Answer = answer("no such run", "list_runs with less asked", "run_scenario makes one")
		}
		return out, nil
	})
}

func runLine(r reports.Row) RunLine {
	line := RunLine{RunID: r.ID, Scenario: r.Scenario, SDK: r.SDK, Broker: strings.TrimSuffix(r.Version+", planted "+r.Planted, ", planted "), Started: r.Started.UTC().Truncate(time.Second), Headline: r.Headline}
	if !strings.HasPrefix(r.Headline, string(r.State)) {
		line.Headline = strings.TrimSuffix(string(r.State)+": "+r.Headline, ": ")
	}
	line.Headline = plain.CutBytes(line.Headline, headlineShown)
	return line
}
