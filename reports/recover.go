package reports

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
)

// keeperDied is what harness.json says of a run that nobody ended.
const keeperDied = "the keeper died before the run ended"

// recoverLock is held by who recovers a run.
const recoverLock = ".recover"

// Recover ends a run whose keeper is dead. Torn files are cut back to their
// whole part, missing ones are replaced by ones that say as much as is known,
// the keeper's death is noted, and the rest is sealed and judged. A run that
// was sealed already is only judged, and a complete run is left alone. The
// caller knows that the keeper is dead.
func Recover(dir string, key ed25519.PrivateKey) (*Summary, error) {
	if err := checkRunDir(dir); err != nil {
		return nil, err
	}
	if summary, err := Dir(dir).Summary(); err == nil {
		return summary, nil
	}
	lock := flock.New(filepath.Join(dir, recoverLock))
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("recover %s: %w", dir, err)
	}
	defer lock.Unlock()
	if summary, err := Dir(dir).Summary(); err == nil {
		return summary, nil // somebody else was quicker
	}
	if err := removeHalves(dir); err != nil {
		return nil, fmt.Errorf("recover %s: %w", dir, err)
	}
	if _, err := Dir(dir).Seal(); err == nil {
		return finish(dir)
	}
	if err := mend(dir); err != nil {
		return nil, fmt.Errorf("recover %s: %w", dir, err)
	}
	return Finish(dir, key)
}

// mend makes unsealed evidence readable.
func mend(dir string) error {
	evidence := filepath.Join(dir, EvidenceDir)
	if err := errors.Join(removeHalves(evidence), removeHalves(filepath.Join(evidence, LogsDir))); err != nil {
		return err
	}
	if err := mendJournal(filepath.Join(evidence, JournalFile)); err != nil {
		return err
	}
	for _, name := range []string{history.EventsFile, history.TablesFile} {
		if err := ensure(filepath.Join(evidence, name)); err != nil {
			return err
		}
	}
	cut, err := history.Recover(evidence)
	if err != nil {
		return err
	}
	if err := mendRun(dir, evidence); err != nil {
		return err
	}
	if _, err := history.ReadLandings(evidence); errors.Is(err, fs.ErrNotExist) {
		if err := history.WriteLandings(evidence, nil); err != nil {
			return err
		}
	}
	notes, err := readHarness(evidence)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	notes = append(notes, keeperDied)
	// The nodes' data are not evidence. Their logs are, and lie elsewhere.
	if err := os.RemoveAll(filepath.Join(dir, NodesDir)); err != nil {
		notes = append(notes, fmt.Sprintf("remove the nodes' data: %v", err))
	}
	if cut > 0 {
		notes = append(notes, fmt.Sprintf("%d torn bytes were cut from the history", cut))
	}
	return WriteHarness(evidence, notes)
}

// removeHalves removes what was being written and had not replaced anything
// yet.
func removeHalves(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") || e.Name() == recoverLock {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// mendRun says what little is known of a run that died before its plan was
// frozen.
func mendRun(dir, evidence string) error {
	_, err := history.ReadRun(evidence)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	info, err := os.Stat(evidence)
	if err != nil {
		return err
	}
	return history.WriteRun(evidence, &history.Run{ID: filepath.Base(dir), Started: info.ModTime().UTC()})
}

func ensure(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// mendJournal opens and closes the journal, which cuts off what a crash left of
// its last line and says so in an entry. That nobody else writes it is checked
// on the way.
func mendJournal(path string) error {
	j, err := journal.Open(path)
	if err != nil {
		return err
	}
	return j.Close()
}
