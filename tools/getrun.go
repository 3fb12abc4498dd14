package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
)

// RunView is a run, and one view of it.
type RunView struct {
	RunAnswer
	Series    *SeriesView          `json:"series,omitempty"`
	Cluster   *history.ClusterInfo `json:"cluster,omitempty"`
	Anomalies *AnomalyView         `json:"anomalies,omitempty"`
	Landings  *LandingView         `json:"landings,omitempty"`
	Timeline  *TimelineView        `json:"timeline,omitempty"`
	History   *HistoryView         `json:"history,omitempty"`
	Report    *PageView            `json:"report,omitempty"`
	Journal   *JournalView         `json:"journal,omitempty"`
}

// getRunArgs are what get_run takes.
type getRunArgs struct {
	RunID string   `json:"run_id"`
	With  []string `json:"with"`
	View  string   `json:"view"`
	Wait  float64  `json:"wait_s"`
	At    string   `json:"at"`
	Rows  int      `json:"rows"`
	After int      `json:"after"`
}

func (a *agent) getRun() Tool {
	t := Tool{
		Name:  "get_run",
		Title: "Read a run",
		Description: "Waits for a run and answers its verdict; or, with view: anomalies (losses by client and time; examples of each violation), landings (the proof of each fault), " +
			"timeline (rates over time), history (recorded rows around one message), report (as published), journal (what was asked and answered). " +
			"Works on live and finished runs.",
		Params: []Param{
			{Name: "run_id", Type: String, Default: "latest", Example: `"latest"`},
			{Name: "view", Type: String, Enum: []string{"summary", "anomalies", "landings", "timeline", "history", "report", "journal"}, Default: "summary"},
			{Name: "with", Type: Array, Items: String, About: "run_ids that repeat this run: judges all as one series, k of n", Example: `["latest"]`},
			waitS(),
			{Name: "at", Type: String, About: "history: stream/seq of a message, or the index of a row; anomalies name both. landings: a fault_id, to see all its samples", Example: `"3/120"`},
			{Name: "rows", Type: Integer, About: "history: how many before and after", Min: 0, Max: 50, Default: float64(10), Example: "10"},
			{Name: "after", Type: Integer, About: "next of an earlier answer, for more", Min: 0, Max: 1 << 40, Example: "50"},
		},
		Example: `{"run_id":"latest","view":"anomalies"}`,
		Hints:   Hints{ReadOnly: true, Idempotent: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in getRunArgs) (RunView, error) {
		dir, err := a.find(in.RunID)
		if err != nil {
			return RunView{}, err
		}
		if len(in.With) > 0 {
			return a.series(dir, in.With)
		}
		s, err := a.look(ctx, call, runID(dir), in)
		if err != nil {
			return RunView{}, err
		}
		out := RunView{RunAnswer: a.answerOf(s)}
		err = a.view(&out, s, dir, in)
		return out, err
	})
}

// look answers a run's status, live or recorded. Only the summary waits: the
// other views are of what is there.
func (a *agent) look(ctx context.Context, call *Call, id string, in getRunArgs) (keeper.Status, error) {
	live, err := a.backend.Live()
	if err != nil {
		return keeper.Status{}, fmt.Errorf("list the live experiments: %w", err)
	}
	for _, l := range live {
		if l.ID != id {
			continue
		}
		e, err := a.connect(call, id)
		if err != nil {
			break // it ended since
		}
		wait := in.Wait
		if in.View != "summary" || l.Scenario == "" {
			wait = 0
		}
		if s, err := await(ctx, call, e, wait, ended); err == nil {
			return s, nil
		}
		break
	}
	return a.recorded(id)
}

func (a *agent) view(out *RunView, s keeper.Status, dir string, in getRunArgs) (err error) {
	if in.View == "summary" {
		out.Cluster = s.Cluster
		return nil
	}
	out.Verdict = nil // the summary has its headline
	out.NextSteps = slices.DeleteFunc(out.NextSteps, func(step string) bool { return strings.HasPrefix(step, "get_run with view "+in.View) })
	switch in.View {
	case "anomalies":
		if out.Anomalies, err = anomalies(dir, s.Verdict, in.After); err == nil {
			out.NextSteps = out.Anomalies.next(out.NextSteps)
		}
	case "landings":
		out.Landings, err = landings(dir, in.At)
	case "timeline":
		out.Timeline, err = timeline(dir)
	case "history":
		out.History, err = around(dir, in.At, in.Rows)
	case "report":
		out.Report, err = report(dir, in.After)
	case "journal":
		out.Journal, err = journalOf(dir, in.After)
	}
	return err
}
