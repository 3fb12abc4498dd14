package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/reports"
)

// A run is named by its directory.
func runID(dir string) string { return filepath.Base(dir) }

// find answers the directory of a run. A person may name any directory; an
// agent names runs of this state directory.
func (a *agent) find(id string) (string, error) {
	if id == "" || id != filepath.Base(id) || strings.ContainsAny(id, `/\`) || strings.Trim(id, ".") == "" {
		return "", fmt.Errorf("%q is not a run_id; take one that a tool answered, or latest", id)
	}
	dir, err := a.backend.Find(id)
	if err != nil {
		return "", fmt.Errorf("%w. Here, run_scenario makes a run and answers its run_id, and latest is the newest", err)
	}
	return dir, nil
}

// recorded is the status of a run whose keeper is gone, from what it wrote.
func (a *agent) recorded(id string) (keeper.Status, error) {
	dir, err := a.find(id)
	if err != nil {
		return keeper.Status{}, err
	}
	s := keeper.Status{ID: runID(dir), Dir: dir, Phase: history.PhaseDone}
	if run, err := reports.Dir(dir).Record(); err == nil {
		s.Scenario, s.Started, s.Cluster = run.Scenario, run.Started, &run.Cluster
	} else if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if landings, err := reports.Dir(dir).Landings(); err == nil {
		s.Faults = faultsOf(landings)
	}
	if summary, err := reports.Dir(dir).Summary(); err == nil {
		shown := summary.Shown()
		s.Root, s.Elapsed, s.Verdict = summary.Root, summary.DurationS, &shown
		return s, nil
	}
	v, err := reports.Dir(dir).Verdict()
	s.Verdict = v
	return s, err
}

func faultsOf(landings []history.Landing) []keeper.FaultStatus {
	list := make([]keeper.FaultStatus, len(landings))
	for i, l := range landings {
		list[i] = keeper.FaultStatus{ID: l.Fault, Type: l.Type, Target: l.Target, Nodes: l.Nodes, State: l.State, Healed: l.Heal(), Reasons: l.Reasons}
	}
	return list
}
