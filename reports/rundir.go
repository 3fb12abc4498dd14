package reports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// A RunDir is an opened run directory: what the run was, and what was recorded
// beside its events.
type RunDir struct {
	Dir
	Run      *history.Run
	Landings []history.Landing
	Harness  []string // what the harness could not do
	Scenario string   // the scenario's text, "" for an exploration by hand
}

// Open reads a run directory, all but its events. It returns an error with the
// next step if dir is no run directory, was written by another version, or
// belongs to a run that did not end. [Recover] ends such a run.
func Open(dir string) (*RunDir, error) {
	if err := checkRunDir(dir); err != nil {
		return nil, err
	}
	d := &RunDir{Dir: Dir(dir)}
	var err error
	if d.Run, err = d.Record(); err != nil {
		return nil, err
	}
	if d.Landings, err = d.Recorded(); err != nil {
		return nil, unfinished(dir, err)
	}
	if d.Harness, err = readHarness(d.Evidence()); err != nil {
		return nil, unfinished(dir, err)
	}
	if d.Scenario, err = d.Dir.Scenario(); err != nil {
		return nil, err
	}
	return d, nil
}

func checkRunDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("open run %s: %w; rmq-mcp list runs shows them", dir, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("open run %s: not a directory; rmq-mcp list runs shows them", dir)
	}
	if !isRunDir(dir) {
		return fmt.Errorf("open run %s: not a run directory, it has no %s/; rmq-mcp list runs shows them", dir, EvidenceDir)
	}
	return nil
}

func unfinished(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open run %s: it did not end; wait for it, or run rmq-mcp heal if its keeper is dead: %w", dir, err)
	}
	return err
}

// harnessFile is harness.json.
type harnessFile struct {
	Format int      `json:"format"`
	Errors []string `json:"errors"`
}

// WriteHarness writes what the harness itself could not do into an evidence
// directory. None is worth writing too: it says that somebody looked.
func WriteHarness(evidence string, errors []string) error {
	if errors == nil {
		errors = []string{}
	}
	return WriteJSON(filepath.Join(evidence, HarnessFile), harnessFile{history.Format, errors})
}

func readHarness(evidence string) ([]string, error) {
	path := filepath.Join(evidence, HarnessFile)
	var f harnessFile
	if err := stored.ReadJSON(path, &f); err != nil {
		return nil, err
	}
	if f.Format < 1 || f.Format > history.Format {
		return nil, fmt.Errorf("read %s: it has format %d and this version reads formats up to %d; run.json beside it names the version of rmq-mcp that wrote it",
			path, f.Format, history.Format)
	}
	return f.Errors, nil
}
