package campaigns

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Trial is one run that was made to see whether it fails.
type Trial struct {
	Scenario  string        `json:"scenario_sha256"` // of the text that was executed
	RunID     string        `json:"run_id,omitempty"`
	Root      string        `json:"root,omitempty"`   // of the run's seal
	Varied    string        `json:"varied,omitempty"` // the one thing in which it differs
	Answer    shrink.Answer `json:"answer"`
	Why       string        `json:"why,omitempty"` // it is unknown
	Failed    Fingerprint   `json:"failed"`
	State     verdict.State `json:"state,omitempty"`
	Headline  string        `json:"headline,omitempty"`
	DurationS float64       `json:"duration_s"`
}

// A Backend is where trials are made. Its fields are functions, so that a test can
// put any of them in place of the real one.
type Backend struct {
	// Run runs the scenario in a file, from cluster to verdict, and answers its
	// run. It ends early, but in order, when ctx does; the run then does not count.
	Run func(ctx context.Context, scenario string, as Variation) (runID string, err error)
	// Read judges a run, by its id or its absolute directory.
	Read func(run string) (Judged, error)
	// JoinBlame puts whose doing a failure is into the report of its run, by its id or
	// directory.
	JoinBlame func(run string, b reports.Blame) error
	// JoinSeries puts what a run, by its id or directory, and its repetitions show into
	// its report.
	JoinSeries func(run string, s reports.Series) error
	// Vary returns what the failure of a run can be varied in.
	Vary func(run string) ([]Variation, error)
	// Tell is called with a line for people.
	Tell func(text string)
}

// Judged is a run, what became of its faults, and how it was repeated before.
type Judged struct {
	Cell
	Planned  int               // faults that its schedule asked for
	Landings []history.Landing // as the verdict takes them
	Before   *reports.Series   // nil where nobody repeated it
}

// ReadJudged judges a run again. A run whose evidence is not what was sealed is an error.
func ReadJudged(dir string) (Judged, error) {
	if _, err := reports.VerifySeal(dir); err != nil {
		return Judged{}, err
	}
	c, err := Read(dir)
	if err != nil {
		return Judged{}, err
	}
	d, err := reports.Open(dir)
	if err != nil {
		return Judged{}, err
	}
	before, err := reports.Dir(dir).Series()
	if err != nil {
		return Judged{}, fmt.Errorf("read how run %s was repeated: %w", c.RunID, err)
	}
	return Judged{c, len(d.Run.Faults), d.Decided(), before}, nil
}

// makeRuns makes a run of each variation that was not made before, one after another.
// The result on disk is how far it has come. When ctx ends it stops in order and
// returns the error of ctx.
func (d *JobDir) makeRuns(ctx context.Context, backend Backend, todo []Variation, soFar func() Result) error {
	sum, err := fileSum(d.Scenario())
	if err != nil {
		return fmt.Errorf("%s of %s: %w", d.Job.Kind, d.Job.RunID, err)
	}
	for n := len(d.Trials); n < len(todo) && !d.enough(); n++ {
		as := ""
		if todo[n] != (Variation{}) {
			as = ", " + todo[n].String()
		}
		r := soFar()
		r.Headline += fmt.Sprintf("; run %d is under way%s", n+1, as)
		if err := d.Save(r); err != nil {
			return err
		}
		wanted := d.Job.Wanted
		if of := todo[n].Of; of > 0 {
			wanted = d.Trials[of-1].Failed
		}
		t, err := d.try(ctx, backend, d.Scenario(), todo[n], wanted, Fingerprint.Meets)
		if err != nil {
			return err
		}
		t.Scenario, t.Varied = sum, strings.TrimPrefix(as, ", ")
		if err := d.keep(t); err != nil {
			return err
		}
		backend.Tell(fmt.Sprintf("run %d of %d%s  %s", n+1, len(todo), as, t))
		if err := d.Save(soFar()); err != nil {
			return err
		}
	}
	return nil
}

// enough reports whether all that is wanted has failed, so that no other run is.
func (d *JobDir) enough() bool {
	var failed Fingerprint
	for _, t := range d.Trials {
		failed = append(failed, t.Failed...)
	}
	return d.Job.UntilFails && d.Job.Wanted.In(failed)
}

// A match says whether a run that failed in another fingerprint fails as wanted.
type match func(wanted, failed Fingerprint) bool

// try runs a scenario once. An error is that of ctx, or of a run on another build, which is
// no trial. A run that could not be made is an unknown.
func (d *JobDir) try(ctx context.Context, backend Backend, scenario string, as Variation, wanted Fingerprint, is match) (Trial, error) {
	began := time.Now()
	t := Trial{Answer: shrink.Unknown, Failed: Fingerprint{}}
	id, err := backend.Run(ctx, scenario, as)
	if ctx.Err() != nil {
		return t, ctx.Err()
	}
	t.DurationS = time.Since(began).Round(100 * time.Millisecond).Seconds()
	var run Judged
	if err == nil {
		t.RunID = id
		run, err = backend.Read(id)
	}
	if err != nil {
		t.Why = err.Error()
		return t, nil
	}
	if as.Flavor == "" {
		if err := d.Job.repeatedBy(run.Cell); err != nil {
			return t, err
		}
	}
	t.Root, t.State, t.Headline, t.Failed = run.Root, run.Verdict.State, run.Verdict.Headline, run.Failures()
	t.Answer, t.Why = run.answer(wanted, is)
	return t, nil
}

// answer says whether a run fails as wanted. A violation stands whatever else went wrong.
// A run that does not fail passes only if it really tried the failure. Otherwise the
// answer is unknown, with the reason.
func (j Judged) answer(wanted Fingerprint, is match) (shrink.Answer, string) {
	failed := j.Failures()
	if len(failed) > 0 && is(wanted, failed) {
		return shrink.Fails, ""
	}
	if why := j.untried(failed, wanted); why != "" {
		return shrink.Unknown, why
	}
	return shrink.Passes, ""
}

// untried is why a run that did not fail as wanted shows nothing, "" where it
// does.
func (j Judged) untried(failed, wanted Fingerprint) string {
	held := func(f Failure) bool {
		r := j.result(f.Claim)
		return r != nil && r.Status == verdict.Pass && (r.Canary.Red || j.Verdict.State.ExitCode() == 0)
	}
	switch {
	case j.Verdict.State.ExitCode() != 0:
	case len(wanted) == 0 || slices.ContainsFunc(wanted, held):
		return ""
	default:
		return fmt.Sprintf("it passes, and whether %s holds could not be told", wanted)
	}
	for _, l := range j.Landings {
		if l.State != history.Landed {
			return strings.Join(append([]string{fmt.Sprintf("%s of %s is %s", l.Type, l.Target, l.State)}, l.Reasons...), ": ")
		}
	}
	switch {
	case len(j.Harness) > 0:
		return "the harness: " + j.Harness[0]
	case len(j.Landings) < j.Planned:
		return fmt.Sprintf("%d of %s were never injected", j.Planned-len(j.Landings), plural(j.Planned, "fault", "faults"))
	case j.Starved():
		return fmt.Sprintf("the host was starved for %.1f s", j.StarvedS)
	case len(failed) == 0: // inconclusive, and the verdict says why
		return j.Verdict.Headline
	}
	// It fails in something else. One part of what is wanted must have held.
	if !slices.ContainsFunc(wanted, held) {
		return fmt.Sprintf("it fails in %s, and whether %s holds could not be told", failed, wanted)
	}
	return ""
}
