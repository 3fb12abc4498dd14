package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/reports"
)

// check reads a run as a person would, and answers its state.
func (r *round) check(l *lab, id string) (state string, err error) {
	dir := filepath.Join(l.dir, "runs", id)
	if _, err := os.Stat(reports.Dir(dir).Evidence()); errors.Is(err, fs.ErrNotExist) {
		return "never began", notListed(l, id)
	}
	var judged struct{ State string }
	out, err := l.command("judge", id, "--json").Output()
	if code := exitCode(err); code < 0 || code > 2 {
		return "", fmt.Errorf("judge %s: exit %d: %s", id, code, stderrOf(err))
	}
	if err := json.Unmarshal(out, &judged); err != nil {
		return "", fmt.Errorf("judge %s: %w", id, err)
	}
	if out, err := l.command("verify", id).CombinedOutput(); err != nil {
		return judged.State, fmt.Errorf("verify %s: %w: %s", id, err, out)
	}
	if err := listed(l, id, judged.State); err != nil {
		return judged.State, err
	}
	return judged.State, errors.Join(r.honest(dir, judged.State), healed(dir), whole(dir))
}

// whole says what of a run directory was half written, and what is no record.
func whole(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); strings.HasPrefix(name, ".") && name != ".recover" || name == reports.NodesDir {
			return errors.Join(err, fmt.Errorf("%s is left", path))
		}
		return err
	})
}

// honest says whether a run that was cut short passes for a whole one.
func (r *round) honest(dir, state string) error {
	d, err := reports.Open(dir)
	if err != nil {
		return err
	}
	finished, err := ended(dir)
	if err != nil {
		return err
	}
	switch {
	case !finished && strings.HasPrefix(state, "PASS"):
		return fmt.Errorf("%s: cut short, and %s", dir, state)
	case !finished && len(d.Harness) == 0:
		return fmt.Errorf("%s: cut short, and nobody says so", dir)
	case !finished && !r.killed("keeper") && !r.killed("guard"):
		return fmt.Errorf("%s: it ended with its server: %v", dir, d.Harness)
	}
	if finished {
		for _, landing := range d.Landings {
			if landing.Healed != history.HealVerified && !r.killed("disk") { // without its disk a node does not come back
				return fmt.Errorf("%s: %s of %v: %s", dir, landing.Type, landing.Nodes, landing.Healed)
			}
		}
	}
	return nil
}

// ended says whether a run came to its end in order.
func ended(dir string) (bool, error) {
	entries, err := journal.Read(reports.Dir(dir).File(reports.EvidenceDir, reports.JournalFile))
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(entries, func(e journal.Entry) bool { return e.Kind == "end" }), nil
}

// healed says whether any fault of a run is still to be undone.
func healed(dir string) error {
	entries, err := journal.Read(reports.Dir(dir).File(reports.EvidenceDir, reports.JournalFile))
	if err != nil {
		return err
	}
	var lines []faults.Line
	for _, e := range entries {
		lines = append(lines, faults.Line{Kind: e.Kind, Data: e.Data})
	}
	pending, err := faults.Pending(lines)
	if err == nil && len(pending) > 0 {
		err = fmt.Errorf("%s: not healed: %v", dir, pending)
	}
	return err
}

// listed says whether a run is in the list of runs as what it is.
func listed(l *lab, id, state string) error {
	rows, err := l.list()
	for _, row := range rows {
		if row.ID == id && string(row.State) == state {
			return err
		}
	}
	return errors.Join(err, fmt.Errorf("%s, judged %s, is not listed as such: %+v", id, state, rows))
}

// notListed says whether a run that never began is in the list. Its directory
// is removed a while later.
func notListed(l *lab, id string) error {
	rows, err := l.list()
	if slices.ContainsFunc(rows, func(row reports.Row) bool { return row.ID == id }) {
		err = errors.Join(err, fmt.Errorf("%s never began and is listed", id))
	}
	return err
}

func (l *lab) list() (rows []reports.Row, err error) {
	out, err := l.command("list", "runs", "--json").Output()
	if err == nil {
		err = json.Unmarshal(out, &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w: %s", err, stderrOf(err))
	}
	return rows, nil
}

// runs are the ids of all runs.
func (l *lab) runs() []string {
	entries, _ := os.ReadDir(filepath.Join(l.dir, "runs"))
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids
}

// needNamespaces skips where an experiment has no namespaces of its own: then
// killing the guard with its keeper leaves work for heal.
func needNamespaces(t *testing.T, l *lab) {
	t.Helper()
	out, err := l.command("doctor", "--json").Output()
	if err != nil {
		t.Fatalf("doctor: %v: %s", err, stderrOf(err))
	}
	var host experiment.Preflight
	if err := json.Unmarshal(out, &host); err != nil {
		t.Fatal(err)
	}
	if host.Isolation == keeper.IsolationNamespaces {
		return
	}
	hosttest.Skip(t, fmt.Sprintf("experiments have isolation %s only", host.Isolation))
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return fmt.Sprint(err)
}
