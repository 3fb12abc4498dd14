package campaigns

import (
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// NewSeries is what it takes to run a scenario with several client libraries, each as
// often as is asked. None is the library of start. If start names no seed, the libraries
// have one in common each time.
func NewSeries(name string, start keeper.Start, sdks []string, times int, blame bool) Job {
	j := Job{Format: jobFormat, Kind: Series, RunID: name, Start: start, Wanted: Fingerprint{}, Blame: blame}
	if len(sdks) == 0 {
		sdks = []string{start.SDK}
	}
	for n := range times {
		v := Variation{Round: int64(n)}
		if start.Seed != 0 {
			v.Round = 0
		}
		for _, v.SDK = range sdks {
			j.Variations = append(j.Variations, v)
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
	if d.Job.Blame && d.Job.Added == nil { // one that goes on makes those that it began to make
		if d.Job.Added, notes = d.toBlame(backend); len(d.Job.Added) > 0 {
			if err := d.rewrite(); err != nil {
				return soFar(), err
			}
		}
	}
	todo = slices.Concat(todo, d.Job.Added)
	if err := d.makeRuns(ctx, backend, todo, soFar); err != nil {
		return soFar(), err
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
	if d.Job.Blame && r.Failed > 0 && d.Job.Added == nil {
		r.Headline += "; then come those that tell whose doing it is"
	}
	return r
}

// maxBlamed is of how many SDKs a series asks whose doing a failure is.
const maxBlamed = 4

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
		if len(blamed) == maxBlamed {
			notes = append(notes, fmt.Sprintf("whose doing the failure of %s is was not tried: it was of %d others", t.RunID, maxBlamed))
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
			if v.Round = planned[i].Round; !slices.Contains(list, v) {
				list = append(list, v)
			}
		}
	}
	return list, notes
}

// seriesState is the state of the library that is worst off, over the runs that were
// asked for. Those that were added for blame are not among them.
func (d *JobDir) seriesState(cells []Cell) verdict.State {
	asked := map[string]bool{}
	for _, t := range d.Trials[:min(len(d.Trials), len(d.Job.Variations))] {
		asked[t.RunID] = true
	}
	var states []verdict.State
	for _, g := range alike(slices.DeleteFunc(slices.Clone(cells), func(c Cell) bool { return !asked[c.RunID] })) {
		states = append(states, SeriesOf(g.cells).State)
	}
	return verdict.Worst(states)
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
	r.Comparison, r.Table = &c, &c.Table
	r.State = d.seriesState(cells)
	r.Headline = fmt.Sprintf("%s: %s", r.State, c.Headline)
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
