package tools

import (
	"fmt"
	"strings"

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

// series judges runs that repeat each other, those of jobs among them.
func (a *agent) series(ids []string) (RunView, error) {
	dirs, err := a.findAll(ids)
	if err != nil {
		return RunView{}, err
	}
	if len(dirs) == 0 {
		return RunView{}, fmt.Errorf("get_run: %s has no judged run yet; get_run with its run_id waits", joined(ids))
	}
	of := ids[0]
	if _, isJob := a.backend.Job(of); !isJob {
		of = runID(dirs[0])
	}
	for _, d := range dirs {
		if _, err := reports.Dir(d).Summary(); err != nil {
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
	said := strings.Join(append([]string{v.Headline}, a.notEnded(ids)...), "; ")
	return RunView{Answer: answer(said, "push_report with all of these runs", "run_scenario with another seed, sdk or flavor"),
		RunID: of, Series: &SeriesView{State: v.State, Reasons: brief(v.Reasons), Caps: brief(v.Caps), Severity: v.Severity, Table: shortTable(&together.Table, answerBytes), Roots: firstOf(v.Runs, maxJobRuns)}}, nil
}
