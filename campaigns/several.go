package campaigns

import (
	"context"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// NewSeries is what it takes to run a scenario with several client libraries, each as
// often as is asked. None is the library of start. Without a seed in start each round has
// its own, which all libraries of the round share.
func NewSeries(name string, start keeper.Start, sdks []string, times int, blame bool) Job {
	j := Job{Format: jobFormat, Kind: Series, RunID: name, Start: start, Wanted: Fingerprint{}, Blame: blame}
	if len(sdks) == 0 {
		sdks = []string{start.SDK}
	}
	for n := range times {
		for _, sdk := range sdks {
			v := Variation{SDK: sdk}
			if start.Seed == 0 {
				v.Round = int64(n)
			}
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
	soFar := func() Result { return d.soFar(len(todo) + len(d.Job.Added)) }
	if err := d.makeRuns(ctx, backend, todo, soFar); err != nil {
		return soFar(), err
	}
	if d.Job.Blame && len(d.Trials) == len(todo) { // one that goes on makes those that it began to make
		d.Job.Added, d.Job.NotTried = d.toBlame(backend)
		if err := d.rewrite(); err != nil {
			return soFar(), err
		}
	}
	if err := d.controls(ctx, backend, todo, soFar); err != nil {
		return soFar(), err
	}
	r, err := d.compared(backend)
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

// maxBlamed is the most SDKs for which a series adds runs.
const maxBlamed = 4

// toBlame returns the runs to add: they tell who is to blame for the first failure with
// each SDK of a series. It leaves out those that the series has made. It also returns the
// failures for which it adds none, with the reason.
func (d *JobDir) toBlame(backend Backend) (list []Variation, notTried []string) {
	planned := d.Job.Variations
	libraries, blamed := map[string]bool{}, map[string]bool{}
	for _, v := range planned {
		libraries[library(v.SDK)] = true
	}
	for i, t := range d.asked() {
		sdk := planned[i].SDK
		if len(t.Failed) == 0 || blamed[sdk] {
			continue
		}
		blamed[sdk] = true
		var all []Variation
		err := fmt.Errorf("runs were added for %d other SDKs", maxBlamed)
		if len(blamed) <= maxBlamed {
			all, err = backend.Vary(t.RunID)
		}
		if err != nil {
			notTried = append(notTried, fmt.Sprintf("who is to blame for the failure of %s was not tried: %v", t.RunID, err))
		}
		for _, v := range all {
			switch {
			case v.Referee == RefereeAgain && d.repeated(i), v.Referee == RefereeSDK && len(libraries) > 1:
				continue
			case v.SDK == "":
				v.SDK = sdk
			}
			v.Round, v.Of = planned[i].Round, i+1
			if !slices.ContainsFunc(list, func(o Variation) bool { o.Of = v.Of; return o == v }) {
				list = append(list, v)
			}
		}
	}
	return list, notTried
}

// asked are the trials that were asked for. The others were added.
func (d *JobDir) asked() []Trial { return d.Trials[:min(len(d.Trials), len(d.Job.Variations))] }

// repeated reports whether a series has repeated its n-th run: with its seed, or, if that
// fails too, with another.
func (d *JobDir) repeated(n int) bool {
	planned := d.Job.Variations
	for i, t := range d.asked() {
		if i != n && planned[i].SDK == planned[n].SDK && (planned[i].Round == planned[n].Round || len(t.Failed) > 0) {
			return true
		}
	}
	return false
}

// seriesState is the state of the library that is worst off. Runs that were added count
// where they repeat one that was asked for.
func (d *JobDir) seriesState(cells []Cell) verdict.State {
	var states []verdict.State
	asked := map[string]bool{}
	for _, t := range d.asked() {
		if asked[t.RunID] = true; t.State == "" { // it could not be made
			states = append(states, verdict.NotRun)
		}
	}
	for _, g := range alike(cells) {
		if slices.ContainsFunc(g.cells, func(c Cell) bool { return asked[c.RunID] }) {
			states = append(states, SeriesOf(g.cells).State)
		}
	}
	return verdict.Worst(states)
}

// compared is what the runs of a series show together. The report of each is told of
// those that repeat it, and of a failed one whose doing the failure is.
func (d *JobDir) compared(backend Backend) (Result, error) {
	r := d.result(false)
	cells, _, err := readRuns(backend, d.judgedRuns())
	if err != nil {
		return r, err
	}
	c := Compare(cells)
	notes := slices.Clone(d.Job.NotTried)
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
		if err := backend.JoinBlame(t.RunID, d.decision(r, t.RunID)); err != nil {
			return r, fmt.Errorf("note in the report of run %s whose doing it is: %w", t.RunID, err)
		}
	}
	return r, nil
}
