package tools

import (
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/keeper"
	"github.com/robustmq/rmq-mcp/internal/verdict"
)

// RunView is a run, and one view of it.
type RunView struct {
	RunAnswer
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
	RunID string  `json:"run_id"`
	View  string  `json:"view"`
	Wait  float64 `json:"wait_s"`
	At    string  `json:"at"`
	Rows  int     `json:"rows"`
	After int     `json:"after"`
}

func (a *agent) getRun() Tool {
	t := Tool{
		Name:  "get_run",
		Title: "Read a run",
		Description: "Waits for a run and answers its verdict; or, with view: anomalies (each violation and its events), landings (what proved each fault), " +
			"timeline (rates over time), history (recorded rows around one message), report (as published), journal (what was asked and answered). " +
			"Works on live and finished runs.",
		Params: []Param{
			{Name: "run_id", Type: String, Default: "latest", Example: `"latest"`},
			{Name: "view", Type: String, Enum: []string{"summary", "anomalies", "landings", "timeline", "history", "report", "journal"}, Default: "summary"},
			waitS(),
			{Name: "at", Type: String, About: "history: stream/seq of a message, or the index of a row; anomalies name both", Example: `"3/120"`},
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
	switch in.View {
	case "summary":
		out.Cluster = s.Cluster
	case "anomalies":
		out.Anomalies = anomalies(s.Verdict, in.After)
	case "landings":
		out.Landings, err = landings(dir)
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

// AnomalyView are the violations of a run, the first ones of each claim.
type AnomalyView struct {
	List  []AnomalyLine `json:"list"`
	Total int           `json:"total"` // examples recorded; the claims' counts have how many there were
	Next  int           `json:"next,omitempty"`
}

// An AnomalyLine is one violation.
type AnomalyLine struct {
	Claim string `json:"claim"`
	verdict.Anomaly
	AtS float64 `json:"at_s"`
	At  string  `json:"at"` // for get_run view=history
}

const anomalyPage = 50

func anomalies(v *verdict.Verdict, after int) *AnomalyView {
	view := &AnomalyView{}
	if v == nil {
		return view
	}
	for _, r := range v.Results {
		for _, x := range r.Anomalies {
			if view.Total++; view.Total <= after || len(view.List) == anomalyPage {
				continue
			}
			x.Events = x.Events[:min(len(x.Events), 20)]
			view.List = append(view.List, AnomalyLine{Claim: r.Claim.Name, Anomaly: x, AtS: time.Duration(x.TimeNS).Seconds(), At: where(x)})
		}
	}
	if end := after + len(view.List); end < view.Total {
		view.Next = end
	}
	return view
}

func where(x verdict.Anomaly) string {
	switch {
	case x.Stream >= 0 && x.Seq >= 0:
		return fmt.Sprintf("%d/%d", x.Stream, x.Seq)
	case len(x.Events) > 0:
		return fmt.Sprint(x.Events[0])
	}
	return ""
}
