package reports

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// Unfinished is the state of a stored run that was not judged: it is running,
// or its keeper died.
const Unfinished verdict.State = "unfinished"

// A Row is one stored run in a list: summary.json.
type Row struct {
	ID        string         `json:"run_id"`
	Dir       string         `json:"-"`
	Scenario  string         `json:"scenario"` // "" for an exploration by hand
	Protocol  string         `json:"protocol"`
	SDK       string         `json:"sdk"`
	Flavor    string         `json:"flavor"`
	Version   string         `json:"version"`           // of the broker
	Planted   string         `json:"planted,omitempty"` // a defect of rmq-mcp's own before it
	Nodes     int            `json:"nodes"`
	Seed      int64          `json:"seed"`
	Tier      string         `json:"tier"`
	Started   time.Time      `json:"started"`
	DurationS float64        `json:"duration_s"`
	State     verdict.State  `json:"state"`
	Headline  string         `json:"headline"`
	Severity  string         `json:"severity,omitempty"`
	Totals    verdict.Totals `json:"totals"`
	Root      string         `json:"root"`
}

// Name of its scenario, or of what it was instead.
func (r Row) Name() string {
	if r.Scenario == "" {
		return "exploration by hand"
	}
	return r.Scenario
}

// Class of a state, for colours and filters: pass, fail or unclear.
func Class(s verdict.State) string {
	switch {
	case s == Unfinished:
		return "unclear"
	case s.ExitCode() == 0:
		return "pass"
	case s.ExitCode() == 1:
		return "fail"
	}
	return "unclear"
}

// A Filter chooses runs. Its zero value takes all.
type Filter struct {
	Scenario string // exactly
	Protocol string // exactly
	State    string // a state or its first word: PASS, FAIL-reproducible, unfinished; case does not matter
	Limit    int    // the newest ones; 0: all
}

// List returns the stored runs, newest first, of a state directory, of a copy that
// [Push] made, or of a folder with nothing but runs. It reads one file a run.
func List(root string, f Filter) ([]Row, error) {
	runs, ids, err := runIDs(root)
	if err != nil {
		return nil, err
	}
	rows := []Row{}
	for _, id := range ids {
		row, err := readRow(filepath.Join(runs, id))
		if errors.Is(err, errNotBegun) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		if f.takes(row) {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return b.Started.Compare(a.Started) })
	if f.Limit > 0 && len(rows) > f.Limit {
		rows = rows[:f.Limit]
	}
	return rows, nil
}

func (f Filter) takes(r Row) bool {
	return (f.Scenario == "" || f.Scenario == r.Scenario) &&
		(f.Protocol == "" || f.Protocol == r.Protocol) &&
		(f.State == "" || strings.HasPrefix(strings.ToLower(string(r.State)), strings.ToLower(f.State)))
}

// runIDs are the names of the run directories, the last by name first, and where they
// lie: in runs/, or where there is none in root itself, if they have a report. A
// folder with another kind of name is not ours.
func runIDs(root string) (runs string, ids []string, err error) {
	runs, published := filepath.Join(root, RunsDir), false
	entries, err := os.ReadDir(runs)
	if errors.Is(err, fs.ErrNotExist) {
		runs, published = root, true
		entries, err = os.ReadDir(root)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return runs, nil, nil
	}
	if err != nil {
		return runs, nil, fmt.Errorf("list runs: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || !stored.IsID(e.Name()) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(runs, e.Name(), ReportFile)); published && err != nil {
			continue
		}
		ids = append(ids, e.Name())
	}
	slices.Reverse(ids)
	return runs, ids, nil
}

// Published reports whether a directory is no state directory and has finished runs:
// a copy that [Push] made, or a folder of them.
func Published(root string) bool {
	runs, ids, err := runIDs(root)
	return err == nil && slices.ContainsFunc(ids, func(id string) bool {
		_, err := os.Lstat(filepath.Join(runs, id, ReportFile))
		return err == nil
	})
}

// errNotBegun says that a run has recorded nothing yet.
var errNotBegun = errors.New("the run has not begun")

// readRow reads a run's summary, or what is known of one that has none yet.
func readRow(dir string) (Row, error) {
	var row Row
	id := filepath.Base(dir)
	err := stored.ReadJSON(filepath.Join(dir, SummaryFile), &row)
	_, noEvidence := os.Lstat(filepath.Join(dir, EvidenceDir))
	if errors.Is(err, fs.ErrNotExist) && noEvidence != nil { // of a published run the report says the same, at length
		var report Report
		err = stored.ReadJSON(filepath.Join(dir, ReportFile), &report)
		row = report.row()
		row.ID = id // its folder may have been given a shorter name
	}
	if err == nil && row.ID != id {
		err = fmt.Errorf("it says that it is run %q", row.ID)
	}
	row.Dir = dir
	if err == nil {
		return row.onLines(), nil
	}
	if !errors.Is(err, fs.ErrNotExist) { // one that is damaged hides no other
		return Unreadable(dir, err), nil
	}
	if errors.Is(noEvidence, fs.ErrNotExist) {
		return row, errNotBegun
	}
	run, err := Dir(dir).Record()
	if err != nil {
		return Unreadable(dir, err), nil
	}
	row.ID, row.State, row.Headline = id, Unfinished, "not judged"
	row.Scenario, row.Protocol, row.SDK, row.Seed, row.Tier = run.Scenario, run.Protocol, run.SDK, run.Seed, run.Tier
	row.Flavor, row.Version, row.Nodes, row.Started = run.Cluster.Flavor, run.Cluster.Version, run.Cluster.Nodes, run.Started
	return row.onLines(), nil
}

// Unreadable is the row of a run of which nothing else is to be had.
func Unreadable(dir string, err error) Row {
	return Row{Dir: dir, ID: filepath.Base(dir), State: Unfinished, Headline: "not readable: " + plain.Line(err.Error()), Started: modified(dir)}
}

// Broker is the version of the broker as it calls itself; of one that nobody can ask the
// flavor.
func (r Row) Broker() string {
	if r.Version == "" || r.Version == history.UnknownVersion {
		return r.Flavor
	}
	return r.Version
}

// onLines has each text on one line: none begins a row of its own.
func (r Row) onLines() Row {
	for _, text := range []*string{&r.Scenario, &r.Protocol, &r.SDK, &r.Flavor, &r.Version, &r.Tier, (*string)(&r.State), &r.Headline, &r.Severity, &r.Root} {
		*text = plain.Line(*text)
	}
	return r
}

func modified(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime().UTC()
}
