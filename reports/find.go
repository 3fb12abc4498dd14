package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/near"
)

// latestRun is the run that was made last.
const latestRun = "latest"

// Find answers the directory of the run that a person means: its id, the
// beginning of one that fits no other, latest, or the path of its directory.
func Find(stateDir, ref string) (dir string, err error) {
	if isRunDir(ref) || ref != "" && filepath.Base(ref) != ref { // a path; what is wrong with it is said where it is opened
		return filepath.Abs(ref)
	}
	return FindID(stateDir, ref)
}

// FindID answers the directory of a run of the state directory, by its id, the beginning
// of one that fits no other, or latest. It is for those who may name no path.
func FindID(stateDir, ref string) (dir string, err error) {
	if named := filepath.Join(stateDir, RunsDir, ref); filepath.Base(named) == ref && isRunDir(named) {
		return named, nil
	}
	runs, ids, err := runIDs(stateDir)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("no run %q: there is none in %s yet; rmq-mcp run SCENARIO makes one", ref, stateDir)
	}
	if ref == latestRun {
		return latest(runs, ids), nil
	}
	var fits []string
	for _, id := range ids {
		if id == ref { // not even evidence in it
			return filepath.Join(runs, id), nil
		}
		if ref != "" && strings.HasPrefix(id, ref) {
			fits = append(fits, id)
		}
	}
	if len(fits) == 1 {
		return filepath.Join(runs, fits[0]), nil
	}
	if len(fits) > 1 {
		return "", fmt.Errorf("%d runs begin with %q: %s; give more of the id", len(fits), ref, strings.Join(fits[:min(len(fits), 5)], ", "))
	}
	return "", fmt.Errorf("no run %q%s; `rmq-mcp list runs`, or list_runs, has all of them", ref, near.Hint(ref, append(ids, latestRun), ""))
}

func isRunDir(path string) bool {
	info, err := os.Lstat(filepath.Join(path, EvidenceDir)) // a link could lead to anywhere
	return path != "" && err == nil && info.IsDir()
}

// latest is the run directory that was made last.
func latest(runs string, ids []string) string {
	var newest string
	var at time.Time
	for _, id := range ids {
		dir := filepath.Join(runs, id)
		if began := started(dir); newest == "" || began.After(at) {
			newest, at = dir, began
		}
	}
	return newest
}

// started is when a run began, as far as it says.
func started(dir string) time.Time {
	row, err := readRow(dir)
	if err != nil {
		return modified(dir)
	}
	return row.Started
}
