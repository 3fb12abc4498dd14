package plan

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// SiteOf is the site of a plan that is written in a file, whose scenarios may be
// files beside it; without a file they are those of the library alone.
func SiteOf(file string, limits *envelope.Envelope) Site {
	return Site{Envelope: limits, Load: func(name string) (*scenarios.Scenario, error) {
		if filepath.Ext(name) != ".md" {
			return scenarios.Load(name)
		}
		if file == "" {
			return nil, fmt.Errorf("no scenario %q: a plan that is in no file has those of the library", name)
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(file), name)
		}
		return scenarios.Load(name)
	}}
}

// Look decides what became of a plan, from the runs of the state directory. It is an error
// if the plan is damaged.
func (r *Record) Look(stateDir string) (Status, error) {
	if r.Damaged != nil {
		return Status{}, r.Damaged
	}
	runs, err := r.runs(stateDir)
	if err != nil {
		return Status{}, err
	}
	gone, err := r.gone(stateDir, runs)
	if err != nil {
		return Status{}, err
	}
	return r.Status(runs, slices.Concat(r.moved(), gone)), nil
}

// runs are those that began after the plan was frozen, the oldest first, judged
// where they are attempts of it.
func (r *Record) runs(stateDir string) (list []Run, err error) {
	rows, err := reports.List(stateDir, reports.Filter{})
	if err != nil {
		return nil, err
	}
	for _, row := range slices.Backward(rows) {
		record, err := reports.Dir(row.Dir).Record()
		if err != nil { // its cluster is still coming up, or it is damaged: see gone
			continue
		}
		run := Run{Record: record, DurationS: row.DurationS}
		// One without a summary that nobody keeps has ended all the same.
		run.Live = row.State == reports.Unfinished && keeper.Kept(stateDir, row.ID)
		if !run.Live && !record.Started.Before(r.At) && len(r.ItemsOf(record)) > 0 {
			run.judge(row.Dir)
		}
		list = append(list, run)
	}
	return list, nil
}

// gone are runs that ended as attempts of the plan and no longer are: somebody
// deleted them, or changed what they say they were.
func (r *Record) gone(stateDir string, runs []Run) (list []string, err error) {
	attempted, err := r.attempted(stateDir)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(attempted)) {
		i := slices.IndexFunc(runs, func(run Run) bool { return run.Record.ID == id })
		switch {
		case i < 0:
			list = append(list, fmt.Sprintf("%s: run %s was an attempt, and its record is gone", attempted[id], id))
		case runs[i].Record.Started.Before(r.At) || len(r.ItemsOf(runs[i].Record)) == 0:
			list = append(list, fmt.Sprintf("%s: run %s was an attempt when it ended, and its record now says something else", attempted[id], id))
		}
	}
	return list, nil
}

// judge decides a run anew, unless it is not what was sealed or cannot be read:
// one such run is no reason to say nothing of the others.
func (run *Run) judge(dir string) {
	_, err := reports.VerifySeal(dir)
	if err == nil {
		run.Cell, err = campaigns.Read(dir)
	}
	if err != nil {
		run.Broken = err.Error()
	}
}

// ItemsOf are the scenarios of a plan that a run is an attempt of, by what it
// recorded; when it began is not looked at.
func (r *Record) ItemsOf(run *history.Run) (list []*Item) {
	for i := range r.Items {
		if len(r.Items[i].differs(run)) == 0 {
			list = append(list, &r.Items[i])
		}
	}
	return list
}

// moved returns the changes since a plan was frozen, in its file, in the scenarios
// that it names, and in what a text means to this version. A file that is gone is no
// change.
func (r *Record) moved() (list []string) {
	site := SiteOf(r.File, nil)
	for i, it := range r.Items {
		now, err := site.Load(r.Plan.Scenarios[i].Scenario)
		if err != nil {
			continue
		}
		if now.SHA != it.SHA {
			list = append(list, fmt.Sprintf("%s: text of %s: %s → %s", it.ID, it.Scenario, short(it.SHA), short(now.SHA)))
		}
		if run, tier, _, err := it.runs(now); err == nil {
			for _, c := range changed(it.Budget, run.Budget(tier)) {
				list = append(list, it.ID+": "+c.String())
			}
		}
	}
	text, err := os.ReadFile(r.File)
	if r.File == "" || err != nil {
		return list
	}
	p, err := Parse(text)
	if err != nil {
		return append(list, fmt.Sprintf("%s can no longer be read as a plan: %v", r.File, err))
	}
	var mismatch *Mismatch
	if p.Name == r.Plan.Name && errors.As(r.Compare(p, nil), &mismatch) { // of another name it is another plan
		for _, c := range mismatch.Changes {
			list = append(list, c.String())
		}
	}
	return list
}
