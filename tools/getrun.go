package tools

import (
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
)

// RunView is one view of a run. The summary has the facts of the run; every other
// view has nothing but what was asked for.
type RunView struct {
	Answer
	RunID string `json:"run_id"`
	*RunFacts
	Job       *JobFacts            `json:"job,omitempty"` // of several runs: how far it is, or what they showed
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
	All   bool     `json:"detail"`
}

func (a *agent) getRun() Tool {
	t := Tool{
		Name: "get_run",
		Description: "Waits for a run and returns its verdict; or a view of it, live or finished: anomalies (once judged: violations and losses, with examples), landings (the proof of each fault), " +
			"timeline (rates), history (rows of one message), report, journal (calls and answers).",
		Params: []Param{
			{Name: "run_id", Type: String, Default: "latest", Example: `"latest"`},
			{Name: "view", Type: String, Enum: []string{"summary", "anomalies", "landings", "timeline", "history", "report", "journal"}, Default: "summary"},
			{Name: "with", Type: Array, Items: String, About: "run_ids that repeat it: k of n, or the anomalies of all", Example: `["latest"]`},
			waitS(),
			{Name: "at", Type: String, About: "history: as in anomalies. landings: a fault_id. anomalies: a claim", Example: `"3/120"`},
			{Name: "rows", Type: Integer, About: "history: beside it", Min: 0, Max: 50, Example: "10"},
			{Name: "after", Type: Integer, About: "next of an earlier answer", Min: 0, Max: 1 << 40, Example: "50"},
			{Name: "detail", Type: Boolean, About: "summary: all claims, the cluster. anomalies: one by one"},
		},
		Example: `{"run_id":"latest","view":"anomalies"}`,
		Hints:   Hints{ReadOnly: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in getRunArgs) (RunView, error) {
		if err := in.fits(); err != nil {
			return RunView{}, err
		}
		all := append([]string{in.RunID}, in.With...)
		jobDir, isJob := a.backend.Job(in.RunID)
		switch {
		case in.View != "summary":
			runs, open := a.runsOfAll(all), a.notEnded(all)
			switch several := len(runs) != 1 || len(open) > 0; {
			case several && in.View == "anomalies":
				return a.anomaliesOf(in, runs, open)
			case several:
				return RunView{}, ofOne(in, runs)
			}
			in.RunID = runs[0]
		case len(in.With) > 0:
			return a.series(all)
		case isJob:
			return a.jobView(ctx, call, jobDir, in.Wait)
		}
		dir, err := a.find(in.RunID)
		if err != nil {
			return RunView{}, err
		}
		s, err := a.look(ctx, call, runID(dir), in)
		if err != nil {
			return RunView{}, err
		}
		if in.View == "summary" {
			return a.summary(s, in.All), nil
		}
		out := RunView{RunID: s.ID, Answer: answer(standing(s))}
		err = a.view(&out, s, dir, in)
		return out, err
	})
}

// fits is nil if the view takes all that was given. An agent would take an answer that
// ignores a part of its question for the answer to it.
func (in getRunArgs) fits() error {
	for _, p := range []struct {
		name  string
		given bool
		views []string
	}{
		{"at", in.At != "", []string{"anomalies", "landings", "history"}},
		{"rows", in.Rows != 0, []string{"history"}},
		{"after", in.After != 0, []string{"anomalies", "report", "journal"}},
		{"detail", in.All, []string{"summary", "anomalies"}},
	} {
		if p.given && !slices.Contains(p.views, in.View) {
			return fmt.Errorf("get_run: view %s takes no %q; leave it out, or set view to %s", in.View, p.name, joined(p.views))
		}
	}
	return nil
}

// ofOne says that a view of several runs is none of one.
func ofOne(in getRunArgs, runs []string) error {
	if len(runs) == 0 {
		return fmt.Errorf("get_run: %s has no judged run yet; get_run with its run_id waits", in.RunID)
	}
	return fmt.Errorf("get_run: view %s is of one run; give the run_id of one: %s", in.View, joined(firstOf(runs, maxRowRuns)))
}

// summary is a run with the claims that it did not pass, or with all of them and
// what its cluster was.
func (a *agent) summary(s keeper.Status, all bool) RunView {
	run := a.answerOf(s)
	if all {
		run.Verdict = wholeVerdict(s.Verdict)
	}
	out := RunView{Answer: run.Answer, RunID: run.RunID, RunFacts: &run.RunFacts}
	if all {
		out.Cluster = s.Cluster
	}
	return out
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

// standing is the state of a run, or its phase while it has none.
func standing(s keeper.Status) string {
	if s.Verdict != nil {
		return string(s.Verdict.State)
	}
	return "phase " + s.Phase
}

func (a *agent) view(out *RunView, s keeper.Status, dir string, in getRunArgs) (err error) {
	switch in.View {
	case "anomalies":
		if err = judgedFor(s, in.At); err != nil {
			return err
		}
		if out.Anomalies, err = anomalies(dir, s.Verdict, in.At, in.All, in.After); err == nil {
			out.Answer = answer(fmt.Sprintf("%s; %s", decided(s.Verdict, in.At), out.Anomalies), out.Anomalies.next()...)
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
