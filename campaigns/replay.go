package campaigns

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// Replay makes the runs of a replay, one after another, but for those that were
// made before, and answers what they show. When ctx ends it stops in order and
// answers what it has beside the error of ctx.
func (d *JobDir) Replay(ctx context.Context, backend Backend) (Result, error) {
	sum, err := fileSum(d.Scenario())
	if err != nil {
		return Result{}, fmt.Errorf("replay %s: %w", d.Job.RunID, err)
	}
	for len(d.Trials) < d.Job.Rule.N {
		t, err := backend.try(ctx, d.Scenario(), Variation{}, d.Job.Wanted)
		if err != nil {
			return d.replayed(), err
		}
		t.Scenario = sum
		if err := d.keep(t); err != nil {
			return d.replayed(), err
		}
		backend.Tell(fmt.Sprintf("run %d of %d  %s", len(d.Trials), d.Job.Rule.N, t))
		if err := d.Save(d.replayed()); err != nil {
			return d.replayed(), err
		}
	}
	r := d.replayed()
	if r.State, err = d.series(backend); err != nil {
		return r, err
	}
	r.Ended = true
	r.Headline = string(r.State) + ": " + r.Headline
	return r, d.Save(r)
}

// series decides over the run and its repetitions together; where there is none
// that could be judged, nothing was repeated.
func (d *JobDir) series(backend Backend) (verdict.State, error) {
	runs := []string{d.Job.Dir}
	for _, t := range d.Trials {
		if t.State != "" { // else there was no run, or none that could be judged
			runs = append(runs, t.RunID)
		}
	}
	if len(runs) == 1 {
		return verdict.NotRun, nil
	}
	var attempts []verdict.Attempt
	for _, id := range runs {
		run, err := backend.Read(id)
		if err != nil {
			return "", fmt.Errorf("judge run %s again: %w", id, err)
		}
		attempts = append(attempts, verdict.Attempt{Seed: run.Seed, Root: run.Root, Verdict: run.Verdict})
	}
	return verdict.Series(attempts).State, nil
}

// replayed is what the runs until now show.
func (d *JobDir) replayed() Result {
	r := d.result(false)
	again := fmt.Sprintf("the failure of run %s, %s, came again", d.Job.RunID, d.Job.Wanted)
	if len(d.Job.Wanted) == 0 {
		again = fmt.Sprintf("run %s did not fail; with all the same something failed", d.Job.RunID)
	}
	r.Headline = fmt.Sprintf("%s in %d of %s", again, r.Failed, plural(r.Runs, "run", "runs"))
	if r.Unknown > 0 {
		r.Headline += fmt.Sprintf("; %d could not be told", r.Unknown)
	}
	return r
}

// SoFar returns the result of a job that could not go on, with its earlier
// findings.
func (d *JobDir) SoFar() Result {
	r := d.result(false)
	if before, err := d.Result(); err == nil {
		r.Headline, r.Reduction = before.Headline, before.Reduction
	}
	return r
}

// result is what all jobs have in common.
func (d *JobDir) result(ended bool) Result {
	r := Result{Job: d.Job, JobID: d.ID(), Ended: ended, Trials: d.Trials}
	r.Runs, r.DurationS = d.spent()
	for _, t := range d.Trials {
		switch t.Answer {
		case shrink.Fails:
			r.Failed++
		case shrink.Unknown:
			r.Unknown++
		}
	}
	return r
}

// String is a trial as one line.
func (t Trial) String() string {
	text := fmt.Sprintf("%-7s %3.0f s  %s", t.Answer, t.DurationS, t.RunID)
	switch {
	case t.Answer == shrink.Unknown:
		text += "  " + t.Why
	case len(t.Failed) > 0:
		text += "  " + t.Failed.String()
	}
	return text
}
