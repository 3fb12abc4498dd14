package tools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// RunAnswer is a run: its phase while it lasts, and what it showed.
type RunAnswer struct {
	Answer
	RunID string `json:"run_id"`
	RunFacts
}

// RunFacts are what is known of a run.
type RunFacts struct {
	Scenario string       `json:"scenario"`
	Seed     int64        `json:"seed,omitempty"` // give it to run_scenario to repeat this run
	SDK      string       `json:"sdk,omitempty"`
	Broker   string       `json:"broker,omitempty"` // with detail its whole configuration
	Tier     string       `json:"tier,omitempty"`
	Running  bool         `json:"running"`
	Phase    string       `json:"phase"`
	Elapsed  float64      `json:"elapsed_s"`
	Expected float64      `json:"expected_s,omitempty"`
	Counts   Counts       `json:"counts"`
	Faults   []FaultLine  `json:"faults"`
	Verdict  *VerdictLine `json:"verdict,omitempty"`
	Blamed   string       `json:"blame_by_experiments,omitempty"` // whose doing its failure is, where replay_run with blame was asked
	Plans    []string     `json:"plans,omitempty"`                // frozen plans that it is an attempt of
	Root     string       `json:"root,omitempty"`                 // hash of the sealed record; quote it with the verdict
	Dir      string       `json:"dir"`
	Harness  string       `json:"harness_error,omitempty"` // what the harness could not do
}

// A VerdictLine is a verdict without the evidence of its results.
type VerdictLine struct {
	State    verdict.State `json:"state"`
	Reasons  []string      `json:"reasons"`
	Caps     []string      `json:"caps"`
	Severity string        `json:"severity,omitempty"`
	Blame    string        `json:"blame,omitempty"`
	Claims   []ClaimLine   `json:"claims"`            // that failed; with detail all
	Passed   int           `json:"passed"`            // claims
	Unknown  []string      `json:"unknown,omitempty"` // claims; with detail why
}

// A ClaimLine is the result on one claim.
type ClaimLine struct {
	Claim    string           `json:"claim"`
	Status   verdict.Status   `json:"status"`
	Summary  string           `json:"summary"`
	Source   string           `json:"source"`
	Promised bool             `json:"promised"` // by the broker's vendor, for this configuration
	Judged   int64            `json:"judged"`
	Counts   map[string]int64 `json:"counts,omitempty"`
	Reasons  []string         `json:"reasons,omitempty"`
	Found    int64            `json:"anomalies"` // how many; view anomalies shows them
}

// A FaultLine is one injection and whether it counts.
type FaultLine struct {
	ID      string               `json:"fault_id"`
	Type    string               `json:"type"`
	Target  string               `json:"target"`
	Nodes   []string             `json:"nodes"`
	Landing history.LandingState `json:"landing"`
	Healed  history.HealState    `json:"healed"` // [history.Landing.Heal]
	Reasons []string             `json:"reasons,omitempty"`
}

// answerOf returns the answer about a run. If the run is over, its written
// record counts, not what its keeper saw while it lasted.
func (a *agent) answerOf(s keeper.Status) RunAnswer {
	out := RunAnswer{RunID: s.ID, RunFacts: RunFacts{Scenario: s.Scenario, Running: !ended(s), Phase: s.Phase, Elapsed: s.Elapsed, Expected: s.Expected,
		Counts: soFar(s.Counts), Root: s.Root, Dir: s.Dir, Harness: s.Error, Verdict: verdictLine(s.Verdict)}}
	if dir, err := a.find(s.ID); err == nil {
		if run, err := reports.Dir(dir).Record(); err == nil {
			out.Seed, out.SDK, out.Tier, out.Broker = run.Seed, run.SDK, run.Tier, brokerLine(run.Cluster)
		}
		places, _ := reports.Dir(dir).Plans() // verify reads them, too, and says what is wrong with them
		if blame, err := reports.Dir(dir).Blame(); err == nil && blame != nil {
			out.Blamed = blame.Headline
		}
		for _, p := range places {
			out.Plans = append(out.Plans, fmt.Sprintf("%s of plan %s (%.12s)", p.Item, p.Plan, p.SHA256))
		}
		if summary, err := reports.Dir(dir).Summary(); err == nil && ended(s) {
			out.Counts, out.Elapsed = judged(summary), summary.DurationS
			if landings, err := reports.Dir(dir).Landings(); err == nil {
				s.Faults = faultsOf(landings)
			}
		}
	}
	for _, f := range s.Faults {
		out.Faults = append(out.Faults, FaultLine{f.ID, f.Type, f.Target, f.Nodes, f.State, f.Healed, f.Reasons})
	}
	out.Answer = runSummary(s, out)
	return out
}

// brokerLine is a broker with what a reader has to know before a loss is called a bug.
func brokerLine(c history.ClusterInfo) string {
	if c.Flavor == "" {
		return "" // a run that has not come so far
	}
	text := fmt.Sprintf("%s %s, %s", c.Flavor, c.Version, plural(c.Nodes, "node"))
	if c.Profile != "" {
		text += ", profile " + c.Profile
	}
	if n := len(c.Differs); n > 0 {
		text += fmt.Sprintf(", %s unlike the vendor's default", plural(n, "setting"))
	}
	if c.Planted != "" {
		text += ", planted " + c.Planted
	}
	return text
}

func runSummary(s keeper.Status, run RunAnswer) Answer {
	switch {
	case s.Verdict != nil:
		return answer(s.Verdict.Headline, afterVerdict(s, run)...)
	case ended(s) && s.Error != "":
		return answer("the harness could not do its job: "+s.Error, "preflight to see what the host lacks", "get_run with view journal")
	case ended(s):
		return answer("ended in phase "+s.Phase+" without a verdict; its keeper is gone", "get_run with view journal", "run_scenario again")
	}
	text := fmt.Sprintf("running: %s, %.0f s", s.Phase, s.Elapsed)
	if s.Expected > 0 {
		text += fmt.Sprintf(" of about %.0f s", s.Expected)
	}
	if s.Scenario == "" {
		return answer(text, "cluster_stop to judge what happened", "cluster_status")
	}
	return answer(text, fmt.Sprintf("get_run with run_id %q to wait on", s.ID), "stop_run to end it early")
}

// afterVerdict is what is worth doing once a run is judged.
func afterVerdict(s keeper.Status, run RunAnswer) []string {
	switch {
	case s.Verdict.State.Failed():
		return []string{"get_run with view anomalies", again(s, run), "push_report with your analysis"}
	case s.Verdict.State == verdict.InconclusiveFault:
		return []string{"get_run with view landings", "preflight"}
	case s.Scenario == "" && run.Counts.Sent == 0 && s.Verdict.State == verdict.InconclusiveOracle:
		return []string{"cluster_start, then run_client with wait_s 0: without traffic nothing can be judged"}
	}
	return []string{"get_run with view timeline", "run_scenario with another seed, sdk or flavor"}
}

// again is what is worth repeating of a failed run: its failure, until it came again, then
// with one thing varied, until its cause is known.
func again(s keeper.Status, run RunAnswer) string {
	once := s.Verdict.State == verdict.FailOnce
	switch {
	case s.Verdict.Severity == verdict.Expected:
		return "get_run with view anomalies: the vendor does not promise what failed, so no further run is needed; run_scenario with other settings may hold it"
	case s.Scenario == "":
		return "run_scenario of the workload's scenario: what was done by hand cannot be repeated"
	case once && run.Blamed == "":
		return fmt.Sprintf("replay_run with run_id %q: a failure counts once it repeats; with blame too: whose doing it is; then reduce_run", run.RunID)
	case once:
		return fmt.Sprintf("replay_run with run_id %q: a failure counts once it repeats; then reduce_run", run.RunID)
	case run.Blamed == "":
		return fmt.Sprintf("replay_run with run_id %q and blame: whose doing it is; then reduce_run", run.RunID)
	}
	return fmt.Sprintf("reduce_run with run_id %q: the smallest scenario that still fails", run.RunID)
}

// briefly is what an answer shows of one reason; the report has it whole.
const briefly = 400

func brief(reasons []string) []string {
	out := make([]string, len(reasons))
	for i, r := range reasons {
		out[i] = plain.CutBytes(r, briefly)
	}
	return out
}

// verdictLine is a verdict without what the summary of the answer says, its
// headline, and without the reasons that the lines of the failed claims give.
func verdictLine(v *verdict.Verdict) *VerdictLine {
	if v == nil {
		return nil
	}
	line := &VerdictLine{State: v.State, Caps: brief(v.Caps), Severity: v.Severity, Blame: v.Blame}
	reasons := slices.Clone(v.Reasons)
	for _, r := range v.Results {
		switch r.Status {
		case verdict.Pass:
			line.Passed++
		case verdict.Fail:
			line.Claims = append(line.Claims, claimLine(r))
			reasons = slices.DeleteFunc(reasons, func(reason string) bool { return strings.HasPrefix(reason, r.Claim.Name+" (") })
		default:
			line.Unknown = append(line.Unknown, r.Claim.Name)
		}
	}
	line.Reasons = brief(reasons)
	return line
}

// wholeVerdict has the claims that passed, too.
func wholeVerdict(v *verdict.Verdict) *VerdictLine {
	line := verdictLine(v)
	if line == nil {
		return nil
	}
	line.Claims, line.Unknown = nil, nil
	for _, r := range v.Results {
		line.Claims = append(line.Claims, claimLine(r))
	}
	return line
}

func nonzero(counts map[string]int64) map[string]int64 {
	counts = maps.Clone(counts)
	maps.DeleteFunc(counts, func(_ string, n int64) bool { return n == 0 })
	return counts
}

func claimLine(r verdict.Result) ClaimLine {
	counts := nonzero(r.Counts)
	if counts == nil && len(r.Reached) > 0 {
		counts = map[string]int64{}
	}
	maps.Copy(counts, r.Reached)
	return ClaimLine{Claim: r.Claim.Name, Status: r.Status, Summary: plain.CutBytes(r.Summary, briefly), Source: r.Claim.Source,
		Promised: r.Promised, Judged: r.Judged, Counts: counts, Reasons: brief(r.Reasons), Found: r.Found()}
}

// finish waits for an experiment's end, or for the caller's patience. When its
// keeper left meanwhile, what it wrote answers instead.
func (a *agent) finish(ctx context.Context, call *Call, e Experiment, wait float64) (RunAnswer, error) {
	s, err := await(ctx, call, e, wait, ended)
	if errors.Is(err, keeper.ErrGone) {
		s, err = a.recorded(e.Info().ID)
	}
	if err != nil {
		return RunAnswer{}, err
	}
	return a.answerOf(s), nil
}

// stop heals, ends and judges an experiment.
func (a *agent) stop(ctx context.Context, call *Call, e Experiment, wait float64) (RunAnswer, error) {
	waiting, refuse := context.WithCancelCause(ctx)
	defer refuse(nil)
	go func() {
		// It answers when all is judged, which the caller need not wait for.
		_, err := e.Stop(context.WithoutCancel(ctx), call.Caller)
		if err != nil && !errors.Is(err, keeper.ErrGone) {
			refuse(fmt.Errorf("stop the experiment: %w", err))
		}
	}()
	out, err := a.finish(waiting, call, e, wait)
	if err != nil && waiting.Err() != nil {
		err = context.Cause(waiting)
	}
	return out, err
}

func (a *agent) stopRun() Tool {
	type args struct {
		RunID string  `json:"run_id"`
		Wait  float64 `json:"wait_s"`
	}
	t := Tool{
		Name:        "stop_run",
		Description: "Heals and ends a live run before its time. It is still judged and sealed; the verdict says what is missing.",
		Params:      []Param{{Name: "run_id", Type: String, Required: true, Example: `"latest"`}, waitS()},
		Example:     `{"run_id":"latest"}`,
		Hints:       Hints{Destructive: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (RunAnswer, error) {
		if jobDir, ok := a.backend.Job(in.RunID); ok {
			return a.stopJob(ctx, call, jobDir, in.Wait)
		}
		dir, err := a.find(in.RunID)
		if err != nil {
			return RunAnswer{}, err
		}
		e, err := a.experiment(call, runID(dir))
		if err != nil {
			// One that is over cannot be ended again; what it showed answers.
			s, recordErr := a.recorded(runID(dir))
			if recordErr != nil {
				return RunAnswer{}, errors.Join(err, recordErr)
			}
			return a.answerOf(s), nil
		}
		return a.stop(ctx, call, e, in.Wait)
	})
}
