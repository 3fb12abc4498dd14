package campaigns

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

// An Outcome is what became of an entry.
type Outcome struct {
	Entry       Entry   `json:"entry"`
	RunID       string  `json:"run_id,omitempty"`
	Alone       bool    `json:"alone,omitempty"`       // run again by itself, because the host was starved
	Unsupported string  `json:"unsupported,omitempty"` // why there is no run
	Error       string  `json:"error,omitempty"`       // why there is none, though there could be
	DurationS   float64 `json:"duration_s,omitempty"`
}

// A Store is a matrix's directory: its plan, and what became of each entry,
// written as it goes.
type Store struct {
	Dir     string
	Plan    Plan
	Started time.Time
	Done    []Outcome // in order of their ends
	Ended   bool

	latest  map[string]int // place in Done of an entry's last outcome
	indexed int            // of Done
}

// Files of a matrix's directory, beside those that people read.
const (
	planFile     = "plan.json"
	outcomesFile = "outcomes.jsonl"
	lockFile     = "lock"
)

// planned is plan.json.
type planned struct {
	Format  int       `json:"format"`
	Key     string    `json:"key"`
	Started time.Time `json:"started"`
	Plan    Plan      `json:"plan"`
}

const storeFormat = 1

// Create begins a matrix below the state directory.
func Create(stateDir string, p Plan, now time.Time) (*Store, error) {
	name := "by-hand"
	switch n := len(p.Scenarios); {
	case n > 1:
		name = fmt.Sprintf("%d-scenarios", n)
	case n == 1:
		name = cmp.Or(stored.Slug(p.Scenarios[0].Name), name)
	}
	id := fmt.Sprintf("%s-%s-%s", now.Format("0102-1504"), name, p.key()[:4])
	dir := filepath.Join(stateDir, reports.MatricesDir, id)
	for n := 2; ; n++ {
		err := os.MkdirAll(filepath.Dir(dir), 0o755)
		if err == nil {
			err = os.Mkdir(dir, 0o755)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make the matrix's directory: %w", err)
		}
		dir = filepath.Join(stateDir, reports.MatricesDir, fmt.Sprintf("%s-%d", id, n))
	}
	s := &Store{Dir: dir, Plan: p, Started: now.UTC()}
	text, err := json.MarshalIndent(planned{storeFormat, p.key(), s.Started, p}, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, planFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		return nil, fmt.Errorf("write the matrix's plan: %w", err)
	}
	return s, nil
}

// ID of the matrix.
func (s *Store) ID() string { return filepath.Base(s.Dir) }

// Open reads a matrix that was begun.
func Open(dir string) (*Store, error) {
	var p planned
	if err := stored.ReadJSON(filepath.Join(dir, planFile), &p); err != nil {
		return nil, fmt.Errorf("open matrix: %w", err)
	}
	if p.Format != storeFormat {
		return nil, fmt.Errorf("open matrix: %s has format %d and this version reads format %d", filepath.Join(dir, planFile), p.Format, storeFormat)
	}
	s := &Store{Dir: dir, Plan: p.Plan, Started: p.Started}
	var err error
	if s.Done, err = stored.ReadJSONs[Outcome](filepath.Join(dir, outcomesFile)); err != nil {
		return nil, fmt.Errorf("open matrix: %w", err)
	}
	m, err := reports.ReadMatrix(dir)
	s.Ended = err == nil && m.Finished
	return s, nil
}

// Unfinished is the newest matrix that was begun and did not end: of a plan, or
// of any for nil. Nil means that there is none.
func Unfinished(stateDir string, like *Plan) (*Store, error) { return begun(stateDir, like, false) }

// Begun is the newest matrix of a plan and its seed, ended or not; nil for none.
func Begun(stateDir string, like Plan) (*Store, error) { return begun(stateDir, &like, true) }

func begun(stateDir string, like *Plan, ended bool) (*Store, error) {
	dirs, err := reports.Matrices(stateDir)
	if err != nil {
		return nil, err
	}
	var newest *Store
	for _, dir := range dirs {
		s, err := Open(dir)
		if err != nil || s.Ended && !ended { // one that cannot be read is nothing to go on with
			continue
		}
		same := like == nil || s.Plan.key() == like.key() && (like.Seed == 0 || like.Seed == s.Plan.Seed)
		if same && (newest == nil || s.Started.After(newest.Started)) {
			newest = s
		}
	}
	return newest, nil
}

// add keeps an outcome.
func (s *Store) add(o Outcome) error {
	if err := stored.AppendJSON(filepath.Join(s.Dir, outcomesFile), o); err != nil {
		return fmt.Errorf("keep what became of %s: %w", o.Entry, err)
	}
	s.Done = append(s.Done, o)
	return nil
}

// outcome is the last one of an entry.
func (s *Store) outcome(e Entry) (Outcome, bool) {
	if s.latest == nil {
		s.latest = map[string]int{}
	}
	for ; s.indexed < len(s.Done); s.indexed++ {
		s.latest[s.Done[s.indexed].Entry.String()] = s.indexed
	}
	i, done := s.latest[e.String()]
	if !done {
		return Outcome{}, false
	}
	return s.Done[i], true
}

// forget takes outcomes for not done.
func (s *Store) forget(which func(Outcome) bool) {
	s.Done = slices.DeleteFunc(s.Done, which)
	s.latest, s.indexed = nil, 0
}

// Lock keeps any other process from running the matrix until it is unlocked.
func (s *Store) Lock() (unlock func() error, err error) { return only("matrix", s.Dir) }

// only keeps any other process from running what is in a directory.
func only(what, dir string) (unlock func() error, err error) {
	lock := flock.New(filepath.Join(dir, lockFile))
	switch mine, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock %s %s: %w", what, filepath.Base(dir), err)
	case !mine:
		return nil, fmt.Errorf("%s %s is being run by another process; wait for its end, or begin another one with --fresh", what, filepath.Base(dir))
	}
	return lock.Unlock, nil
}
