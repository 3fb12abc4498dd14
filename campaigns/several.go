package campaigns

import (
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// NewSeries is what it takes to run a scenario with several client libraries, each as
// often as is asked. None is the library of start.
func NewSeries(name string, start keeper.Start, sdks []string, times int, blame bool) Job {
	j := Job{Format: jobFormat, Kind: Series, RunID: name, Start: start, Wanted: Fingerprint{}, Blame: blame}
	if len(sdks) == 0 {
		sdks = []string{start.SDK}
	}
	for range times {
		for _, sdk := range sdks {
			j.Variations = append(j.Variations, Variation{SDK: sdk})
		}
	}
	return j
}

// Series makes the runs of a series, one after another, but for those that were made
// before. If one fails and blame is asked, it makes those that differ from it in one
// thing as well. It ends as [JobDir.Replay] does.
func (d *JobDir) Series(ctx context.Context, backend Backend) (Result, error) {
	todo := d.Job.Variations
	soFar := func() Result { return d.soFar(len(todo)) }
	if err := d.makeRuns(ctx, backend, todo, soFar); err != nil {
		return soFar(), err
	}
	var notes []string
	if d.Job.Blame {
		var more []Variation
		more, notes = d.toBlame(backend)
		todo = slices.Concat(todo, more)
		if err := d.makeRuns(ctx, backend, todo, soFar); err != nil {
			return soFar(), err
		}
	}
	r, err := d.compared(backend, notes)
	if err != nil {
		return r, err
	}
	r.Ended = true
	return r, d.Save(r)
}

// soFar is what there is of a series or of blame while it goes on.
func (d *JobDir) soFar(of int) Result {
	r := d.result(false)
	r.Headline = fmt.Sprintf("%d of %s made, %d failed", r.Runs, plural(of, "run", "runs"), r.Failed)
	if d.Job.Blame && r.Failed > 0 && of == len(d.Job.Variations) {
		r.Headline += "; then come those that tell whose doing it is"
	}
	return r
}

// toBlame are the runs that tell whose doing the first failure with each SDK of a series
// is, as far as the series has not made them, and why there are none.
func (d *JobDir) toBlame(backend Backend) (list []Variation, notes []string) {
	planned := d.Job.Variations
	libraries, times, blamed := map[string]bool{}, map[string]int{}, map[string]bool{}
	for _, v := range planned {
		libraries[library(v.SDK)] = true
		times[v.SDK]++
	}
	for i, t := range d.Trials[:min(len(d.Trials), len(planned))] {
		sdk := planned[i].SDK
		if len(t.Failed) == 0 || blamed[sdk] {
			continue
		}
		blamed[sdk] = true
		all, err := backend.Vary(t.RunID)
		if err != nil {
			notes = append(notes, fmt.Sprintf("whose doing the failure of %s is was not tried: %v", t.RunID, err))
			continue
		}
		for _, v := range all {
			switch {
			case v.Referee == RefereeAgain && times[sdk] > 1, v.Referee == RefereeSDK && len(libraries) > 1:
				continue
			case v.SDK == "":
				v.SDK = sdk
			}
			list = append(list, v)
		}
	}
	return list, notes
}

// compared is what the runs of a series show together. The report of each is told of
// those that repeat it, and of a failed one whose doing the failure is.
func (d *JobDir) compared(backend Backend, notes []string) (Result, error) {
	r := d.result(false)
	cells, err := readRuns(backend, d.judgedRuns())
	if err != nil {
		return r, err
	}
	c := Compare(cells)
	for _, t := range d.Trials {
		if t.State == "" {
			notes = append(notes, fmt.Sprintf("a run %s could not be made: %s", t.Varied, t.Why))
		}
	}
	c.Notes = append(notes, c.Notes...)
	r.Comparison, r.Table, r.Headline = &c, &c.Table, c.Headline
	for _, g := range alike(cells) {
		if len(g.cells) < 2 {
			continue
		}
		series := SeriesOf(g.cells)
		for _, run := range series.Runs {
			if err := backend.JoinSeries(run, series); err != nil {
				return r, fmt.Errorf("note in the report of run %s that it was repeated: %w", run, err)
			}
		}
	}
	if !d.Job.Blame {
		return r, nil
	}
	for _, t := range d.Trials {
		if len(t.Failed) == 0 {
			continue
		}
		if err := backend.JoinBlame(t.RunID, d.decision(r)); err != nil {
			return r, fmt.Errorf("note in the report of run %s whose doing it is: %w", t.RunID, err)
		}
	}
	return r, nil
}
