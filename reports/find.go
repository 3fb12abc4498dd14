package reports

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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
	if ref == "latest" {
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
	return "", fmt.Errorf("no run %q; near to it: %s; `rmq-mcp list runs` shows all, `latest` means the newest", ref, strings.Join(nearest(ids, fits, ref), ", "))
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

// nearest is up to five ids to suggest: those that fit, else those that share
// the most with ref, the newest first.
func nearest(ids, fits []string, ref string) []string {
	if len(fits) == 0 {
		fits = slices.Clone(ids)
		slices.SortStableFunc(fits, func(a, b string) int { return cmp.Compare(distance(a, ref), distance(b, ref)) })
	}
	return fits[:min(5, len(fits))]
}

// distance is the number of single-character edits between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// started is when a run began, as far as it says.
func started(dir string) time.Time {
	row, err := readRow(dir)
	if err != nil {
		return modified(dir)
	}
	return row.Started
}
