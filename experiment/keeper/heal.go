package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// HealDead undoes what dead keepers left. For every run that did not end in
// order and has nobody taking care of it, HealDead ends the remaining
// processes, and recover replays the undo journal. HealDead returns the healed
// runs. A run whose recovery fails stays noted and is tried again at the next
// call.
func HealDead(stateDir string, recover func(runDir string) error) ([]string, error) {
	ids, err := liveIDs(stateDir, ".lock")
	if err != nil {
		return nil, fmt.Errorf("find dead experiments: %w", err)
	}
	var healed []string
	var errs []error
	for _, id := range ids {
		ok, err := healDead(stateDir, id, recover)
		if err != nil {
			errs = append(errs, fmt.Errorf("heal %s: %w", id, err))
		}
		if ok {
			healed = append(healed, id)
		}
	}
	if err := removeStillborn(stateDir); err != nil {
		errs = append(errs, fmt.Errorf("remove runs that never began: %w", err))
	}
	return healed, errors.Join(errs...)
}

// removeStillborn removes the directories of runs whose starter was killed
// before there was a guard, or the guard before there was anything to record.
func removeStillborn(stateDir string) error {
	entries, err := os.ReadDir(filepath.Join(stateDir, "runs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if !ours.MatchString(e.Name()) {
			continue
		}
		dir := runDir(stateDir, e.Name())
		if _, err := os.Lstat(filepath.Join(dir, "evidence")); err == nil {
			continue // nearly all
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > spawnBound {
			removeEmptyRun(dir)
		}
	}
	return nil
}

// dying bounds the wait for a killed process. Its locks go with the last of its threads,
// and a keeper follows its guard.
const dying = 5 * time.Second

// lockDead takes the lock of a run with a dead guard, as soon as the kernel has taken it from the
// guard. It is nil if the guard lives, or if another process cleans up.
func lockDead(stateDir, id string) (*flock.Flock, error) {
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		lock, err := lockRun(stateDir, id, 0)
		if lock != nil || err != nil {
			return lock, err
		}
		info, err := readInfo(stateDir, id)
		if err != nil || info.Guard.alive() || time.Since(began) > dying {
			return nil, nil
		}
	}
}

func healDead(stateDir, id string, recover func(runDir string) error) (bool, error) {
	lock, err := lockDead(stateDir, id)
	if lock == nil {
		return false, err
	}
	defer lock.Close()
	info, err := readInfo(stateDir, id)
	for began := time.Now(); err == nil && info.Keeper.alive(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > dying {
			return false, nil
		}
	}
	if err := killAnnounced(livePath(stateDir, id, ".children")); err != nil {
		return false, err
	}
	dir := runDir(stateDir, id)
	err = recover(dir)
	if _, gone := os.Stat(dir); err != nil && !errors.Is(gone, fs.ErrNotExist) {
		return false, err // of a run that somebody deleted there is nothing to recover
	}
	removeEntry(stateDir, id)
	finishRun(lock)
	return true, nil
}
