package campaigns

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// Replay makes the runs of a replay, one after another, but for those that were
// made before, and answers what they show. When ctx ends, or the broker is another build
// by now, it stops in order and answers what it has beside the error.
func (d *JobDir) Replay(ctx context.Context, backend Backend) (Result, error) {
	if err := d.makeRuns(ctx, backend, make([]Variation, d.Job.Rule.N), d.replayed); err != nil {
		return d.replayed(), err
	}
	r := d.replayed()
	runs := d.judgedRuns()
	if r.State = verdict.NotRun; len(runs) > 1 {
		cells, earlier, err := readRuns(backend, runs)
		if err != nil {
			return r, err
		}
		own, before := len(runs), repeatedBefore(backend, earlier, cells)
		for _, c := range before {
			runs, cells = append(runs, c.RunID), append(cells, c)
		}
		series, table := SeriesOf(cells), tabulate(cells, nil)
		r.State, r.Table = series.State, &table
		if again, ok := series.Each[cells[0].RunID]; ok && len(before) > 0 {
			r.Headline += fmt.Sprintf("; with those of before: %s", again)
		}
		for i, run := range runs { // the first, and those of before, may be of another version, or somebody else's
			if err := backend.JoinSeries(run, series); err != nil && 0 < i && i < own {
				return r, fmt.Errorf("note in the report of run %s that it was repeated: %w", run, err)
			}
		}
	}
	r.Ended = true
	r.Headline = string(r.State) + ": " + r.Headline
	return r, d.Save(r)
}

// judgedRuns are the run that the job is about and those of its trials that could be
// judged.
func (d *JobDir) judgedRuns() []string {
	var runs []string
	if d.Job.Dir != "" {
		runs = append(runs, d.Job.Dir)
	}
	return append(runs, d.JudgedTrials()...)
}

// JudgedTrials are the ids of the runs of the trials that could be judged.
func (d *JobDir) JudgedTrials() (ids []string) {
	for _, t := range d.Trials {
		if t.State != "" {
			ids = append(ids, t.RunID)
		}
	}
	return ids
}

// repeatedBefore are the runs of an earlier series that repeat one of the cells: how often a
// run fails is counted over all of its repetitions. One whose evidence is not whole any more
// does not count.
func repeatedBefore(backend Backend, earlier *reports.Series, cells []Cell) (before []Cell) {
	if earlier == nil {
		return nil
	}
	for _, id := range earlier.Runs {
		if slices.ContainsFunc(cells, func(c Cell) bool { return c.RunID == id }) {
			continue
		}
		if again, err := backend.Read(id); err == nil && again.RunID == id && slices.ContainsFunc(cells, again.repeats) {
			before = append(before, again.Cell)
		}
	}
	return before
}

// readRuns judges runs again. Earlier is how the first of them was repeated, nil if it was not.
func readRuns(backend Backend, runs []string) (cells []Cell, earlier *reports.Series, err error) {
	for i, id := range runs {
		run, err := backend.Read(id)
		if err != nil {
			return nil, nil, fmt.Errorf("judge run %s again: %w", id, err)
		}
		if cells = append(cells, run.Cell); i == 0 {
			earlier = run.Before
		}
	}
	return cells, earlier, nil
}

// SeriesOf decides over runs that repeat each other.
func SeriesOf(cells []Cell) reports.Series {
	var attempts []verdict.Attempt
	var out reports.Series
	for _, c := range cells {
		attempts = append(attempts, c.Attempt())
		out.Runs = append(out.Runs, c.RunID)
	}
	series := verdict.Series(attempts)
	out.State, out.Headline = series.State, series.Headline
	out.Each = map[string]verdict.Repetition{}
	for i, a := range attempts {
		if again := verdict.Repeated(a, attempts); again != nil {
			out.Each[out.Runs[i]] = *again
		}
	}
	return out
}

// replayed is what the runs until now show.
func (d *JobDir) replayed() Result {
	r := d.result(false)
	r.Headline = d.again(r.Runs) + andUnknown(r.Unknown)
	return r
}

// andUnknown says of how many runs nothing could be told, "" of none.
func andUnknown(runs int) string {
	if runs == 0 {
		return ""
	}
	return fmt.Sprintf("; %d could not be told", runs)
}

// again says of each claim in how many runs it failed: first of those that failed in
// the run that is repeated, then of others.
func (d *JobDir) again(runs int) string {
	times := map[string]int{}
	var others []string
	wanted := d.Job.Wanted.Claims()
	for _, t := range d.Trials {
		for _, claim := range t.Failed.Claims() {
			if times[claim]++; times[claim] == 1 && !slices.Contains(wanted, claim) {
				others = append(others, claim)
			}
		}
	}
	counted := func(claims []string, failed string) string {
		var list []string
		for _, claim := range claims {
			list = append(list, fmt.Sprintf("%s %s%d", claim, failed, times[claim]))
			failed = "in "
		}
		return strings.Join(list, ", ")
	}
	text := fmt.Sprintf("run %s, repeated %s: ", d.Job.RunID, plural(runs, "time", "times"))
	switch {
	case len(wanted) == 0 && len(others) == 0:
		return text + "no claim failed, as in the run itself"
	case len(wanted) == 0:
		return text + "no claim failed in the run itself; " + counted(others, "failed in ")
	case len(others) > 0:
		return text + counted(wanted, "failed again in ") + "; " + counted(others, "failed in ")
	}
	return text + counted(wanted, "failed again in ")
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
	r.Runs, r.DurationS = d.Spent()
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
