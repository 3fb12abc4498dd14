package plan

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/reports"
)

const format = 1

// Frozen is a plan whose hash is its name, with every scenario as it then was.
type Frozen struct {
	Format int    `json:"format"`
	Plan   Plan   `json:"plan"`  // as written
	Items  []Item `json:"items"` // as resolved
}

// A Record is a frozen plan and when that was.
type Record struct {
	Frozen
	Hash string    // SHA-256 of its file
	At   time.Time // runs that began before are none of its attempts
	File string    // that it was written in; "" for one that an agent handed over

	Damaged error // why its own file cannot be read: no more is known of it than its name; nil where it can
}

// Files in a state directory:
//
//	plans/SHA256.json    a frozen plan
//	plans/journal.jsonl  what was frozen, when, by whom; hash-chained
const (
	plansDir    = "plans"
	journalFile = "journal.jsonl"
	lockFile    = "lock"
)

// Kinds of entries of the journal.
const (
	kindFreeze  = "freeze"
	kindAttempt = "attempt" // a run that is one has ended
)

// frozenEntry is the data of one.
type frozenEntry struct {
	Hash string        `json:"sha256"`
	Name string        `json:"name"`
	File string        `json:"file,omitempty"`
	By   keeper.Caller `json:"by"`
}

// attemptEntry is the data of a run: who deletes it later deletes no failure.
type attemptEntry struct {
	Run    string              `json:"run_id"`
	Places []reports.PlanPlace `json:"plans"`
}

// lockBound is how long another process may take to freeze its plan.
const lockBound = 10 * time.Second

// Freeze lints a plan and freezes it in a state directory. One that is frozen
// already stays as it is; another one of the same name is a [*Mismatch], whatever
// gaps it has. File is where it is written, "" for nowhere.
func (s Site) Freeze(ctx context.Context, stateDir string, text []byte, file string, by keeper.Caller) (*Record, error) {
	p, err := Parse(text)
	if err != nil {
		return nil, err
	}
	f, gaps := s.Lint(p)
	if before, err := Named(stateDir, p.Name); err != nil || before != nil {
		if err == nil {
			err = before.Compare(p, f)
		}
		return before, err
	}
	if gaps != nil {
		return nil, gaps
	}
	return freeze(ctx, stateDir, f, file, by)
}

func freeze(ctx context.Context, stateDir string, f *Frozen, file string, by keeper.Caller) (*Record, error) {
	dir := filepath.Join(stateDir, plansDir)
	unlock, err := lock(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("freeze plan %s: %w", f.Plan.Name, err)
	}
	defer unlock()
	before, err := Named(stateDir, f.Plan.Name)
	if err != nil || before != nil {
		if err == nil {
			err = before.Compare(&f.Plan, f)
		}
		return before, err
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("freeze plan %s: %w", f.Plan.Name, err)
	}
	text = append(text, '\n')
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	if err := os.WriteFile(filepath.Join(dir, hash+".json"), text, 0o644); err != nil {
		return nil, fmt.Errorf("freeze plan %s: %w", f.Plan.Name, err)
	}
	if err := note(dir, kindFreeze, frozenEntry{hash, f.Plan.Name, file, by}); err != nil { // it is frozen from here on
		return nil, fmt.Errorf("freeze plan %s: %w", f.Plan.Name, err)
	}
	return Find(stateDir, hash)
}

// lock keeps every other process from writing about plans until it is unlocked.
func lock(ctx context.Context, dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	ctx, cancel := context.WithTimeout(ctx, lockBound)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, fmt.Errorf("another process writes about plans: %w; try again", err)
	}
	return lock.Unlock, nil
}

func note(dir, kind string, data any) error {
	j, err := journal.Open(filepath.Join(dir, journalFile))
	if err != nil {
		return err
	}
	_, err = j.Append(kind, data)
	return errors.Join(err, j.Close())
}

// each goes through the journal's entries of a kind, in order.
func each[T any](stateDir, kind string, see func(T, time.Time) error) error {
	path := filepath.Join(stateDir, plansDir, journalFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lines, err := journal.Read(path)
	if err != nil {
		return fmt.Errorf("read what was planned: %w", err)
	}
	for _, line := range lines {
		var data T
		if line.Kind != kind {
			continue
		}
		if err := json.Unmarshal(line.Data, &data); err != nil {
			return fmt.Errorf("read what was planned: entry %d of %s: %w", line.N, path, err)
		}
		if err := see(data, line.Time); err != nil {
			return err
		}
	}
	return nil
}

// All are the frozen plans of a state directory, in the order of freezing, with those that
// are damaged.
func All(stateDir string) (all []*Record, err error) {
	err = each(stateDir, kindFreeze, func(e frozenEntry, at time.Time) error {
		r := &Record{Hash: e.Hash, At: at, File: e.File}
		if err := read(stateDir, e.Hash, &r.Frozen); err != nil {
			r.Damaged, r.Frozen = fmt.Errorf("read frozen plan %s: %w", e.Name, err), Frozen{Plan: Plan{Name: e.Name}}
		}
		all = append(all, r)
		return nil
	})
	return all, err
}

func read(stateDir, hash string, f *Frozen) error {
	text, err := frozenText(stateDir, hash)
	if err == nil {
		err = json.Unmarshal(text, f)
	}
	if err == nil && f.Format != format {
		err = fmt.Errorf("it has format %d and this version reads format %d; use the rmq-mcp that froze it", f.Format, format)
	}
	return err
}

// whole is the plan, or the reason why it cannot be read.
func (r *Record) whole() (*Record, error) {
	if r.Damaged != nil {
		return nil, r.Damaged
	}
	return r, nil
}

// frozenText is the file of a frozen plan, as it was frozen.
func frozenText(stateDir, hash string) ([]byte, error) {
	path := filepath.Join(stateDir, plansDir, hash+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w; restore that file, no verdict follows without it", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != hash {
		return nil, fmt.Errorf("%s is not what was frozen: its SHA-256 is %x; restore that file, no verdict follows from another", path, sum)
	}
	return text, nil
}

// Named is the frozen plan of a name, nil if there is none.
func Named(stateDir, name string) (*Record, error) {
	all, err := All(stateDir)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(r *Record) bool { return r.Plan.Name == name })
	if at < 0 {
		return nil, nil
	}
	return all[at].whole()
}

// Find is the frozen plan that a person means: its hash, the beginning of that,
// its name, or latest.
func Find(stateDir, ref string) (*Record, error) {
	all, err := All(stateDir)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no plan %q: none is frozen in %s yet; `rmq-mcp plan FILE` freezes one, freeze_plan for an agent", ref, stateDir)
	}
	if ref == "latest" {
		return all[len(all)-1].whole()
	}
	var names []string
	var fits []*Record
	for _, r := range all {
		if r.Plan.Name == ref {
			return r.whole()
		}
		if len(ref) >= 4 && strings.HasPrefix(r.Hash, ref) {
			fits = append(fits, r)
		}
		names = append(names, fmt.Sprintf("%s (%.12s)", r.Plan.Name, r.Hash))
	}
	if len(fits) == 1 {
		return fits[0].whole()
	}
	return nil, fmt.Errorf("no frozen plan %q; there are %s, or latest", ref, strings.Join(names, ", "))
}
