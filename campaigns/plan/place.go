package plan

import (
	"context"
	"path/filepath"
	"time"

	"github.com/robustmq/rmq-mcp/reports"
)

// Place notes in a run's directory the frozen plans that it is an attempt of,
// by the run's own records until now. It also notes beside the plans that there
// was such a run. No run can be told to be an attempt of a damaged plan.
func Place(ctx context.Context, stateDir, runDir string) error {
	run, err := reports.Dir(runDir).Record()
	if err != nil {
		return err
	}
	all, err := All(stateDir)
	if err != nil {
		return err
	}
	var places []reports.PlanPlace
	for _, r := range all {
		if run.Started.Before(r.At) {
			continue
		}
		for _, it := range r.ItemsOf(run) {
			places = append(places, reports.PlanPlace{Plan: r.Plan.Name, SHA256: r.Hash, Item: it.ID})
		}
	}
	if len(places) == 0 {
		return nil
	}
	if err := reports.WritePlans(runDir, places); err != nil {
		return err
	}
	dir := filepath.Join(stateDir, plansDir)
	unlock, err := lock(ctx, dir)
	if err != nil {
		return err
	}
	defer unlock()
	return note(dir, kindAttempt, attemptEntry{run.ID, places})
}

// attempted are the runs that were attempts of a plan when they ended, with the
// scenario of each.
func (r *Record) attempted(stateDir string) (map[string]string, error) {
	runs := map[string]string{}
	err := each(stateDir, kindAttempt, func(e attemptEntry, _ time.Time) error {
		for _, p := range e.Places {
			if p.SHA256 == r.Hash {
				runs[e.Run] = p.Item
			}
		}
		return nil
	})
	return runs, err
}
