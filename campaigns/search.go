package campaigns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/random"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A Round is one run of a search, and what it showed.
type Round struct {
	N         int           `json:"n"`
	Seed      int64         `json:"seed"` // by which its scenario was drawn, and of its run
	Title     string        `json:"title"`
	RunID     string        `json:"run_id,omitempty"`
	Root      string        `json:"root,omitempty"` // of the run's seal
	Build     Build         `json:"build"`
	State     verdict.State `json:"state,omitempty"`
	Headline  string        `json:"headline,omitempty"`
	Failed    Fingerprint   `json:"failed"` // what is worth reporting
	Known     []string      `json:"known,omitempty"`
	Landed    []random.Cell `json:"landed"`
	Missed    []random.Cell `json:"missed"`
	Error     string        `json:"error,omitempty"` // why there is no run
	DurationS float64       `json:"duration_s"`
}

// A Reduced is what became of the reduction of a finding.
type Reduced struct {
	Failed    Fingerprint `json:"failed"`
	RunID     string      `json:"run_id"`
	JobID     string      `json:"job_id,omitempty"`
	Headline  string      `json:"headline"`
	Scenario  string      `json:"scenario,omitempty"` // file; "" where there is none
	DurationS float64     `json:"duration_s"`
}

// A SearchBackend is what a search acts through. Its fields are functions, so that a
// test can put any of them in place of the real one.
type SearchBackend struct {
	// Run runs the scenario in a file, from cluster to verdict, and answers its
	// run. It ends early, but in order, when ctx does; the run then does not count.
	Run func(ctx context.Context, file string, seed int64) (runID string, err error)
	// Read judges a run.
	Read func(runID string) (Judged, error)
	// Passed is called with a run that has nothing to show; nil for nothing.
	Passed func(runID string) error
	// Reduce reduces a run to what makes some claims fail, within a time; nil
	// where nobody asked for it.
	Reduce func(ctx context.Context, runID string, claims []string, within time.Duration) (Result, error)
	// Begins and Ends are called with a scenario and what came of it.
	Begins func(n int, title string)
	Ends   func(Round)
	// Tell is called with a line for people.
	Tell func(text string)
}

const (
	maxErrors    = 5               // runs in a row that could not be made: then none can
	leastReduceS = 2 * time.Minute // less leaves time for a run or two
)

// Run makes runs until the search's limits are reached. It stops for no
// failure: a failure that was not seen before is reduced, and any other is
// counted. When ctx ends, Run stops in order and returns the error of ctx. It
// is an error that the broker is another build by now.
func (s *Search) Run(ctx context.Context, backend SearchBackend) error {
	for !s.Over() {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := s.unreduced()
		if f != nil && backend.Reduce != nil && s.left() >= leastReduceS {
			if err := s.reduce(ctx, backend, *f); err != nil {
				return err
			}
			continue
		}
		if err := s.round(ctx, backend); err != nil {
			return err
		}
	}
	return nil
}

// round makes one run, where coverage is thin.
func (s *Search) round(ctx context.Context, backend SearchBackend) error {
	n := len(s.Rounds) + 1
	one, seed, err := s.Plan.Space.Next(s.Plan.Seed, n, s.coverage())
	if err != nil {
		return err
	}
	file := filepath.Join(s.Dir, fmt.Sprintf("random-%d.md", seed))
	if err := os.WriteFile(file, []byte(one.Text), 0o644); err != nil {
		return fmt.Errorf("write the scenario of run %d: %w", n, err)
	}
	backend.Begins(n, one.Title)
	began := time.Now()
	r := Round{N: n, Seed: seed, Title: one.Title, Failed: Fingerprint{}, Landed: []random.Cell{}, Missed: random.Planned(one)}
	id, err := backend.Run(ctx, file, seed)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = r.read(backend, one, id)
	}
	if err != nil {
		r.Error = err.Error()
	}
	if err := s.ofOneBuild(r); err != nil {
		return err
	}
	r.DurationS = time.Since(began).Round(100 * time.Millisecond).Seconds()
	if err := s.addRound(r); err != nil {
		return err
	}
	backend.Ends(r)
	if last := s.Rounds[max(0, n-maxErrors):]; len(last) == maxErrors && !slices.ContainsFunc(last, func(r Round) bool { return r.Error == "" }) {
		return fmt.Errorf("%d runs in a row could not be made, the last: %s", maxErrors, r.Error)
	}
	if backend.Passed != nil && r.State != "" && r.State.ExitCode() == 0 {
		return backend.Passed(r.RunID)
	}
	return nil
}

// ofOneBuild is an error where a run was on another build than those before it. The findings and
// the coverage of one build say nothing of another.
func (s *Search) ofOneBuild(r Round) error {
	was := s.Plan.Build
	for _, before := range s.Rounds {
		if was == (Build{}) {
			was = before.Build
		}
	}
	if was.other(r.Build) {
		return fmt.Errorf("campaign %s: run %s was on %w of the broker (%s) than those before it (%s) and does not count; restore that build to resume, or start a new campaign with --fresh", s.ID(), r.RunID, errOtherBuild, r.Build, was)
	}
	return nil
}

// read takes the findings from a run. Known defects of its library are set
// apart, because they would be found in every second run.
func (r *Round) read(backend SearchBackend, s *scenarios.Scenario, id string) error {
	run, err := backend.Read(id)
	if err != nil {
		return err
	}
	r.RunID, r.Root, r.State, r.Headline = id, run.Root, run.Verdict.State, run.Verdict.Headline
	r.Build = run.Broker.build()
	r.Landed, r.Missed = random.Recorded(s, run.SDK, run.Landings)
	for _, f := range run.Failures() {
		if where := knownOf(run.Cell, f); where != "" {
			r.Known = append(r.Known, fmt.Sprintf("%s of %s: %s", f.Claim, run.SDK, where))
		} else {
			r.Failed = append(r.Failed, f)
		}
	}
	return nil
}

// knownOf is where it is known that a run's library fails so, "" for nowhere. A failure of
// which the packets show another's doing is none of the library's.
func knownOf(c Cell, f Failure) string {
	if slices.ContainsFunc(f.Ways, func(w verdict.Way) bool { return w.Party != "" && w.Party != verdict.SDK }) {
		return ""
	}
	for _, k := range KnownDefects() {
		if k.covers(c.SDK, c.Protocol, []string{f.Claim}) {
			return k.Issue
		}
	}
	sdk, err := clients.ResolveFor(c.SDK, c.Protocol)
	cannot := func(word string) bool { return slices.Contains(sdk.Cannot, word) }
	once := f.Claim == "sdk-once" && (!sdk.Dedupes || cannot(contract.CannotDedupeAtOnce))
	if err == nil && (once || f.Claim == "sdk-qos2-flow" && cannot(contract.CannotExactlyOnce)) {
		return "its own driver says so, docs/sdk-defects.md"
	}
	return ""
}

// reduce reduces the first run of a finding. If its failures do not come again
// together but some of them do, reduce reduces those alone. An unsuccessful
// reduction is kept too, so that it is tried only once.
func (s *Search) reduce(ctx context.Context, backend SearchBackend, f Finding) error {
	backend.Tell(fmt.Sprintf("new: %s, in run %s; reducing it", f.Failed, f.Runs[0]))
	result, err := backend.Reduce(ctx, f.Runs[0], f.Failed.Claims(), s.left())
	spent := result.DurationS
	left := s.left() - time.Duration(spent*float64(time.Second))
	if again := came(result, f.Failed); err == nil && left >= leastReduceS && len(again) > 0 && len(again) < len(f.Failed) {
		backend.Tell(fmt.Sprintf("%s alone came again; reducing that", again))
		result, err = backend.Reduce(ctx, f.Runs[0], again.Claims(), left)
		spent += result.DurationS
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, errOtherBuild) {
		return fmt.Errorf("campaign %s: %w", s.ID(), err)
	}
	red := Reduced{Failed: f.Failed, RunID: f.Runs[0], JobID: result.JobID, Headline: result.Headline, DurationS: spent}
	if result.Reduction != nil {
		red.Scenario = result.Reduction.Scenario
	}
	if err != nil {
		red.Headline = "not reduced: " + err.Error()
	}
	backend.Tell(red.Headline)
	return s.addReduced(red)
}

// came are those of some failures that came again in a reduction that found none
// of its runs to fail in all of them.
func came(r Result, failed Fingerprint) (again Fingerprint) {
	if r.Reduction == nil || r.Reduction.Scenario != "" {
		return nil
	}
	for _, f := range failed {
		if slices.ContainsFunc(r.Trials, func(t Trial) bool { return t.Failed.has(f) }) {
			again = append(again, f)
		}
	}
	return again
}

// A Finding is a failure that was not seen before, and the runs that show it.
type Finding struct {
	Failed  Fingerprint `json:"failed"`
	Title   string      `json:"title"`    // of the first run's scenario
	Says    string      `json:"headline"` // of the first run
	Runs    []string    `json:"run_ids"`  // the first one first
	Reduced *Reduced    `json:"reduced,omitempty"`
}

// Findings are the failures of the search, the first one first.
func (s *Search) Findings() (list []Finding) {
	list = []Finding{}
	for _, r := range s.Rounds {
		if len(r.Failed) == 0 || r.State.ExitCode() != 1 {
			continue
		}
		i := slices.IndexFunc(list, func(f Finding) bool { return f.Failed.like(r.Failed) })
		if i < 0 {
			i, list = len(list), append(list, Finding{Failed: r.Failed, Title: r.Title, Says: r.Headline})
		}
		list[i].Runs = append(list[i].Runs, r.RunID)
	}
	for _, red := range s.Reductions {
		if i := slices.IndexFunc(list, func(f Finding) bool { return f.Failed.like(red.Failed) }); i >= 0 {
			list[i].Reduced = &red
		}
	}
	return list
}

// unreduced is the first finding that nobody tried to reduce, nil for none.
func (s *Search) unreduced() *Finding {
	for _, f := range s.Findings() {
		if f.Reduced == nil {
			return &f
		}
	}
	return nil
}

func (s *Search) coverage() *random.Coverage {
	var c random.Coverage
	for _, r := range s.Rounds {
		c.Add(r.Landed, r.Missed)
	}
	return &c
}

// Over reports whether the limits are reached: runs, or time.
func (s *Search) Over() bool {
	return s.Plan.MaxRuns > 0 && len(s.Rounds) >= s.Plan.MaxRuns || s.Plan.MaxS > 0 && s.left() <= 0
}

// left is the time that is left, a day where there is no limit.
func (s *Search) left() time.Duration {
	if s.Plan.MaxS == 0 {
		return 24 * time.Hour
	}
	return time.Duration((s.Plan.MaxS - s.SpentS()) * float64(time.Second))
}

// SpentS are the seconds that runs and reductions took.
func (s *Search) SpentS() (seconds float64) {
	for _, r := range s.Rounds {
		seconds += r.DurationS
	}
	for _, r := range s.Reductions {
		seconds += r.DurationS
	}
	return seconds
}

// Slim takes from a run's directory what is large and of use only to judge it
// again: the history and the logs. Its verdict, its report and the seal, which
// names the hash of what is gone, stay.
func Slim(dir string) error {
	for _, name := range []string{"history.arrow", "logs"} {
		if err := os.RemoveAll(reports.Dir(dir).File(reports.EvidenceDir, name)); err != nil {
			return fmt.Errorf("make run %s smaller: %w", filepath.Base(dir), err)
		}
	}
	return nil
}
