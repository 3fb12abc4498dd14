package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// JobAnswer is a replay or a reduction: how far it is, or what it showed.
type JobAnswer struct {
	Answer
	JobFacts
}

// JobFacts are what is known of a job.
type JobFacts struct {
	JobID     string         `json:"job_id"`           // give it as run_id to wait on
	RunID     string         `json:"run_id,omitempty"` // the run that it repeats
	Running   bool           `json:"running"`
	State     verdict.State  `json:"state,omitempty"`
	Wanted    []string       `json:"wanted,omitempty"` // claims that must fail again
	Table     *reports.Table `json:"table,omitempty"`  // k of n of each claim, the run among them
	Runs      int            `json:"runs"`
	Failed    int            `json:"failed"`
	Unknown   int            `json:"unknown"` // runs that show nothing
	DurationS float64        `json:"duration_s"`
	ExpectedS float64        `json:"expected_s,omitempty"` // that the runs to come still take
	RunIDs    []string       `json:"run_ids,omitempty"`    // made so far
	Trials    []TrialLine    `json:"trials"`               // the last ones
	Reduced   *ReducedView   `json:"reduced,omitempty"`
	Blame     []string       `json:"blame,omitempty"` // whose doing each failed claim is, and what shows it
	Dir       string         `json:"dir"`
	Error     string         `json:"error,omitempty"`
}

// A TrialLine is one run of a job.
type TrialLine struct {
	RunID  string        `json:"run_id,omitempty"`
	Varied string        `json:"varied,omitempty"` // the one thing in which it differs
	Answer shrink.Answer `json:"answer,omitempty"` // fails, passes, unknown; beside the table unknown alone
	Failed []string      `json:"failed,omitempty"` // while there is no table
	Why    string        `json:"why,omitempty"`
	Said   string        `json:"headline,omitempty"` // beside the table
	Root   string        `json:"root,omitempty"`     // its beginning
}

// A ReducedView is how far a reduction is.
type ReducedView struct {
	Tried    int                `json:"tried"`              // candidates
	Last     []string           `json:"last"`               // of them
	Changes  []campaigns.Change `json:"changes"`            // what is smaller now
	Failed   int                `json:"failed"`             // runs of what is left that failed,
	Runs     int                `json:"runs"`               // of so many that could tell
	Unknown  int                `json:"unknown,omitempty"`  // beside them, that could not
	Minimal  bool               `json:"minimal"`            // no candidate that is smaller in one respect failed
	Scenario string             `json:"scenario,omitempty"` // its file
	Text     string             `json:"text,omitempty"`
	Command  string             `json:"command,omitempty"` // that runs it
}

// pollJobEvery is how often a job that goes on is looked at.
const pollJobEvery = 300 * time.Millisecond

// maxJobRuns is how many run ids an answer names.
const maxJobRuns = 30

// lastShown is how many trials and steps an answer shows.
const lastShown = 3

// job begins a job or joins it, and waits for it. A run_id that is a job's goes
// on with that one.
func (a *agent) job(ctx context.Context, call *Call, id string, ask jobs.Ask, wait float64) (JobAnswer, error) {
	ask.Caller, ask.Envelope = call.Caller, a.envelope
	jobDir, ok := a.backend.Job(id)
	switch {
	case ok && jobDir.Job.Kind.Tool() != ask.Kind.Tool():
		return JobAnswer{}, fmt.Errorf("%s is a %s; call %s with it", id, jobDir.Job.Kind, jobDir.Job.Kind.Tool())
	case ok:
		if r, err := jobDir.Result(); !jobDir.Busy() && (err != nil || !r.Ended) {
			if err := a.backend.ResumeJob(jobDir, ask); err != nil {
				return JobAnswer{}, err
			}
		}
	default:
		dir, err := a.find(id)
		if err != nil {
			return JobAnswer{}, err
		}
		ask.Run = dir
		if jobDir, err = a.backend.BeginJob(ask); err != nil {
			return JobAnswer{}, err
		}
	}
	return a.awaitJob(ctx, call, jobDir, wait)
}

// stopJob asks the process that works on a job to stop in order, and waits for its end.
// The results so far stay, and the same job can go on.
func (a *agent) stopJob(ctx context.Context, call *Call, jobDir *campaigns.JobDir, wait float64) (RunAnswer, error) {
	worked := jobDir.Busy()
	if worked {
		if err := jobDir.AskStop(); err != nil {
			return RunAnswer{}, fmt.Errorf("stop %s: %w", jobDir.ID(), err)
		}
	}
	job, err := a.awaitJob(ctx, call, jobDir, wait)
	if err != nil {
		return RunAnswer{}, err
	}
	out := RunAnswer{Answer: job.Answer, RunID: jobDir.ID(), RunFacts: RunFacts{Scenario: jobDir.Job.Start.Scenario, Running: job.Running, Phase: history.PhaseDone, Dir: jobDir.Dir}}
	switch {
	case !worked:
		out.Summary = "no process was working on it: " + job.Summary
	case job.Running:
		out.Phase = "stopping"
		out.Answer = answer("asked to stop: its run is still to be healed and judged, and no other begins",
			fmt.Sprintf("get_run with run_id %q waits for its end", jobDir.ID()), "then "+goesOn(jobDir))
	}
	return out, nil
}

// goesOn is the call that goes on with a job that was stopped.
func goesOn(jobDir *campaigns.JobDir) string {
	if jobDir.Job.Kind == campaigns.Series {
		return "run_scenario with the same arguments resumes it"
	}
	return fmt.Sprintf("%s with run_id %q resumes it", jobDir.Job.Kind.Tool(), jobDir.ID())
}

// awaitJob looks at a job until nobody works on it any more or the time is over.
func (a *agent) awaitJob(ctx context.Context, call *Call, jobDir *campaigns.JobDir, wait float64) (JobAnswer, error) {
	deadline := call.deadline(wait)
	for {
		busy := jobDir.Busy() // before its last word is read
		now, err := campaigns.OpenJobDir(jobDir.Dir)
		if err != nil {
			return JobAnswer{}, err
		}
		out := a.jobAnswer(now, busy)
		left := time.Until(deadline)
		if !busy || left <= 0 {
			return out, nil
		}
		if call.Progress != nil {
			call.Progress(float64(out.Runs), 0, out.Summary)
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(min(pollJobEvery, max(0, left))):
		}
	}
}

func (a *agent) jobAnswer(jobDir *campaigns.JobDir, busy bool) JobAnswer {
	r, err := jobDir.Result()
	if err != nil { // nothing has come of it yet
		r = jobDir.SoFar()
	}
	of := jobDir.Job.RunID
	if jobDir.Job.Kind == campaigns.Series { // it repeats none
		of = ""
	}
	out := JobAnswer{JobFacts: JobFacts{JobID: jobDir.ID(), RunID: of, Running: busy, State: r.State, Wanted: jobDir.Job.Wanted.Claims(),
		Runs: r.Runs, Failed: r.Failed, Unknown: r.Unknown, DurationS: r.DurationS, Dir: jobDir.Dir}}
	if r.Table != nil && !busy {
		out.RunIDs, out.Trials = runsBeside(r.Trials)
	} else {
		for _, t := range r.Trials[max(0, len(r.Trials)-lastShown):] {
			out.Trials = append(out.Trials, trialLine(t))
		}
	}
	if r.Reduction != nil {
		out.Reduced = reducedView(r.Reduction)
	}
	if r.Comparison != nil {
		for _, line := range r.Comparison.Lines() {
			out.Blame = append(out.Blame, plain.CutBytes(line, blameShown))
		}
		for _, note := range shortened(r.Comparison.Notes, maxNotes) {
			out.Blame = append(out.Blame, "note: "+note)
		}
	}
	tool := jobDir.Job.Kind.Tool()
	switch {
	case busy:
		out.ExpectedS = math.Round(jobDir.LeftS())
		out.Answer = answer(strings.TrimSpace(fmt.Sprintf("running: %s so far, %.0f s. %s", madeOf(jobDir, r.Runs), r.DurationS, r.Headline)), fmt.Sprintf("%s with run_id %q to wait on", tool, out.JobID))
	case !r.Ended:
		out.Error = r.Error
		if out.Error == "" {
			out.Error = "its process was killed"
		}
		out.Answer = answer(fmt.Sprintf("stopped after %s: %s", madeOf(jobDir, r.Runs), out.Error), goesOn(jobDir))
	case out.Reduced != nil && out.Reduced.Scenario != "":
		out.Answer = answer(r.Headline, "read reduced.text: what had to stay is what the failure needs", "push_report with these runs and your analysis")
	case r.Unknown == 0 && settled(r.Comparison):
		out.Answer = answer(r.Headline, fmt.Sprintf("push_report with runs [%q] and your analysis: whose doing each failure is has been decided, and no further run is needed", out.JobID),
			fmt.Sprintf("get_run with run_id %q, view anomalies: of all its runs", out.JobID))
	case r.Failed == 0 && r.Unknown == 0:
		out.Answer = answer(r.Headline, "run_scenario with tier hardening, or another seed", "push_report with these runs and your analysis")
	default:
		out.Answer = answer(r.Headline, fmt.Sprintf("get_run with run_id %q, view anomalies: of all its runs", out.JobID), "push_report with these runs and your analysis")
	}
	beside, _ := json.Marshal(out)
	out.Table = shortTable(r.Table, max(answerBytes-len(beside), answerBytes/2))
	return out
}

// madeOf is how many of the planned runs of a job are made.
func madeOf(jobDir *campaigns.JobDir, made int) string {
	if planned := jobDir.Planned(); planned > 0 {
		return fmt.Sprintf("%d of %s", made, plural(planned, "run"))
	}
	return plural(made, "run")
}

// notEnded says how far those jobs are that have not come to their end. Their further runs
// can change what they show.
func (a *agent) notEnded(ids []string) (notes []string) {
	for _, id := range ids {
		jobDir, ok := a.backend.Job(id)
		if !ok {
			continue
		}
		if r, err := jobDir.Result(); jobDir.Busy() || err != nil || !r.Ended {
			notes = append(notes, fmt.Sprintf("%s has not ended: %s so far", id, madeOf(jobDir, len(jobDir.Trials))))
		}
	}
	return notes
}

// settled reports whether runs failed, and no run is missing to tell whose doing it is.
func settled(c *campaigns.Comparison) bool {
	return c != nil && len(c.Attributions) > 0 &&
		!slices.ContainsFunc(c.Attributions, func(a reports.Attribution) bool { return !a.Cause.Broken() || len(a.Next) > 0 })
}

func trialLine(t campaigns.Trial) TrialLine {
	return TrialLine{RunID: t.RunID, Varied: t.Varied, Answer: t.Answer, Failed: t.Failed.Claims(), Why: plain.CutBytes(t.Why, whyShown)}
}

// whyShown is how much an answer shows of the reason why a trial is unknown.
const whyShown = 120

// blameShown is how much an answer shows of whose doing a failure is, so that the address
// of its issue is whole.
const blameShown = 400

// fewTrials are so few that an answer has a line for each.
const fewTrials = 6

// runsBeside are a job's runs beside its table: a line for each, with the headline to be
// quoted; of many, their ids and the unknown ones, of which a table says nothing.
func runsBeside(trials []campaigns.Trial) (ids []string, lines []TrialLine) {
	for _, t := range trials {
		if t.RunID != "" {
			ids = append(ids, t.RunID)
		}
		if few := len(trials) <= fewTrials; few || t.Answer == shrink.Unknown && len(lines) < lastShown {
			line := trialLine(t)
			said := strings.Replace(t.Headline, verdict.NotRepeated+": ", "", 1) // the table says how often
			if line.Answer != shrink.Unknown {
				line.Answer = ""
			}
			line.Failed, line.Said, line.Root = nil, plain.CutBytes(said, headlineShown), t.Root[:min(len(t.Root), rootShown)]
			lines = append(lines, line)
		}
	}
	if len(trials) <= fewTrials {
		return nil, lines
	}
	return firstOf(ids, maxJobRuns), lines
}

// rootShown is how much a line shows of a root hash.
const rootShown = 12

func reducedView(r *campaigns.Reduction) *ReducedView {
	v := &ReducedView{Tried: len(r.Steps), Changes: r.Changes, Failed: r.Failed, Runs: r.Runs, Unknown: r.Unknown, Minimal: r.Minimal, Scenario: r.Scenario, Command: r.Command}
	for _, s := range r.Steps[max(0, len(r.Steps)-lastShown):] {
		v.Last = append(v.Last, string(s.Answer)+": "+s.What)
	}
	if text, err := os.ReadFile(filepath.Clean(r.Scenario)); r.Scenario != "" && err == nil {
		v.Text = string(text)
	}
	return v
}

// several begins to run a scenario several times, or joins the same that did not end, and
// waits for it.
func (a *agent) several(ctx context.Context, call *Call, ask jobs.Ask, wait float64) (RunView, error) {
	ask.Kind, ask.Caller, ask.Envelope = campaigns.Series, call.Caller, a.envelope
	jobDir, err := a.backend.BeginJob(ask)
	if err != nil {
		return RunView{}, fmt.Errorf("run_scenario: %w. Nothing was changed", err)
	}
	return a.jobView(ctx, call, jobDir, wait)
}

// jobView waits for a job, and shows it as a run.
func (a *agent) jobView(ctx context.Context, call *Call, jobDir *campaigns.JobDir, wait float64) (RunView, error) {
	out, err := a.awaitJob(ctx, call, jobDir, wait)
	if err != nil {
		return RunView{}, err
	}
	return RunView{Answer: out.Answer, RunID: out.JobID, Job: &out.JobFacts}, nil
}

func (a *agent) replayRun() Tool {
	type args struct {
		RunID string  `json:"run_id"`
		Times int     `json:"times"`
		Blame bool    `json:"blame"`
		Wait  float64 `json:"wait_s"`
	}
	t := Tool{
		Name:        "replay_run",
		Description: "Repeats a run with all the same: in how many runs does each claim fail? Its job_id waits on.",
		Params: []Param{
			{Name: "run_id", Type: String, Required: true, Example: `"latest"`},
			{Name: "times", Type: Integer, Min: 1, Max: 50, About: "default 3; with blame 1, of each variation", Example: "3"},
			{Name: "blame", Type: Boolean, About: "vary SDK, broker, faults, one at a time: whose doing is it?"},
			waitS(),
		},
		Example: `{"run_id":"latest","times":3}`,
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (JobAnswer, error) {
		ask := jobs.Ask{Kind: campaigns.Replay, Times: cmp.Or(in.Times, 3)}
		if in.Blame {
			ask.Kind, ask.Times = campaigns.Blame, cmp.Or(in.Times, 1)
		}
		return a.job(ctx, call, in.RunID, ask, in.Wait)
	})
}

func (a *agent) reduceRun() Tool {
	type args struct {
		RunID  string   `json:"run_id"`
		Claims []string `json:"claims"`
		Within float64  `json:"within_min"`
		Wait   float64  `json:"wait_s"`
	}
	t := Tool{
		Name:        "reduce_run",
		Description: "Leaves out of a failed run's scenario what it can while the same claims fail in 2 of 3 runs. About an hour; its job_id waits on.",
		Params: []Param{
			{Name: "run_id", Type: String, Required: true, Example: `"latest"`},
			{Name: "claims", Type: Array, Items: String, About: "default: all that failed"},
			{Name: "within_min", Type: Number, Min: 1, Max: 1440, Default: float64(120)},
			waitS(),
		},
		Example: `{"run_id":"latest"}`,
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (JobAnswer, error) {
		ask := jobs.Ask{Kind: campaigns.Reduce, Claims: in.Claims, Within: time.Duration(in.Within * float64(time.Minute))}
		return a.job(ctx, call, in.RunID, ask, in.Wait)
	})
}
