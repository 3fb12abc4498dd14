package tools

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
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

func evidence(dir string) string { return filepath.Join(dir, reports.EvidenceDir) }

// recorded is the status of a run whose keeper is gone, from what it wrote.
func (a *agent) recorded(id string) (keeper.Status, error) {
	dir, err := a.find(id)
	if err != nil {
		return keeper.Status{}, err
	}
	s := keeper.Status{ID: runID(dir), Dir: dir, Phase: history.PhaseDone}
	if run, err := history.ReadRun(evidence(dir)); err == nil {
		s.Scenario, s.Started, s.Cluster = run.Scenario, run.Started, &run.Cluster
	} else if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if landings, err := reports.Landings(dir); err == nil {
		s.Faults = faultsOf(landings)
	}
	if summary, err := reports.ReadSummary(dir); err == nil {
		shown := summary.Shown()
		s.Root, s.Elapsed, s.Verdict = summary.Root, summary.DurationS, &shown
		return s, nil
	}
	v, err := readVerdict(dir)
	s.Verdict = v
	return s, err
}

// readVerdict answers nil for a run that was not judged.
func readVerdict(dir string) (*verdict.Verdict, error) {
	var v verdict.Verdict
	err := stored.ReadJSON(filepath.Join(dir, reports.VerdictFile), &v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the verdict of run %s: %w; `rmq-mcp judge %s` decides it again from the evidence", runID(dir), err, runID(dir))
	}
	return &v, nil
}

func faultsOf(landings []history.Landing) []keeper.FaultStatus {
	list := make([]keeper.FaultStatus, len(landings))
	for i, l := range landings {
		list[i] = keeper.FaultStatus{ID: l.Fault, Type: l.Type, Target: l.Target, Nodes: l.Nodes, State: l.State, Healed: l.Heal(), Reasons: l.Reasons}
	}
	return list
}

// eachBatch goes through the events of a run in order. Stop it by answering
// false.
func eachBatch(dir string, add func(*history.Batch) bool) (*history.Tables, error) {
	reader, err := history.Open(evidence(dir))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	for {
		batch, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return reader.Tables(), nil
		}
		if err != nil {
			return nil, err
		}
		if !add(batch) {
			return reader.Tables(), nil
		}
	}
}
