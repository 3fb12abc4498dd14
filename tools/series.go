package tools

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// SeriesView is the verdict over several runs of one experiment.
type SeriesView struct {
	State    verdict.State  `json:"state"`
	Reasons  []string       `json:"reasons"`
	Caps     []string       `json:"caps"`
	Severity string         `json:"severity,omitempty"`
	Table    *reports.Table `json:"table"` // k of n of each claim
	Roots    []string       `json:"roots"` // of the runs; one that is named twice counts once
}

// series judges a run together with those that repeat it.
func (a *agent) series(dir string, with []string) (RunView, error) {
	dirs := []string{dir}
	for _, id := range with {
		d, err := a.find(id)
		if err != nil {
			return RunView{}, err
		}
		dirs = append(dirs, d)
	}
	for _, d := range dirs {
		if _, err := reports.ReadSummary(d); err != nil {
			return RunView{}, fmt.Errorf("run %s is not judged yet; get_run with its run_id waits for it", runID(d))
		}
	}
	v, err := a.backend.Series(dirs)
	if err != nil {
		return RunView{}, fmt.Errorf("%w; leave out what repeats something else", err)
	}
	together, err := a.backend.Compare(dirs)
	if err != nil {
		return RunView{}, err
	}
	return RunView{Answer: answer(v.Headline, "push_report with all of these runs", "run_scenario with another seed, sdk or flavor"),
		RunID: runID(dir), Series: &SeriesView{State: v.State, Reasons: brief(v.Reasons), Caps: brief(v.Caps), Severity: v.Severity, Table: shortTable(&together.Table, answerBytes), Roots: v.Runs}}, nil
}
