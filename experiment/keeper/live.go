package keeper

import (
	"context"
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
)

// A Process is one process and no later one with the same pid.
type Process struct {
	Pid   int    `json:"pid"`
	Start int64  `json:"start"`          // in the system's own unit
	Boot  string `json:"boot,omitempty"` // id of the boot that Start counts from
}

// Info is a keeper that runs, as live/ID.json says.
type Info struct {
	ID        string    `json:"id"`
	Dir       string    `json:"dir"`
	Scenario  string    `json:"scenario,omitempty"` // "": driven by hand
	Flavor    string    `json:"flavor,omitempty"`   // of the brokers, as asked for
	Isolation string    `json:"isolation"`
	Socket    string    `json:"socket"`
	Keeper    Process   `json:"keeper"` // as seen outside its pid namespace
	Guard     Process   `json:"guard"`
	Started   time.Time `json:"started"`
	Session   string    `json:"session,omitempty"` // of the host that asked for it: [Caller.Session]
}

// List answers the keepers that run, oldest first. Entries of dead ones are
// removed; what those may have left undone stays noted for HealDead.
func List(stateDir string) ([]Info, error) {
	ids, err := liveIDs(stateDir, ".json")
	if err != nil {
		return nil, fmt.Errorf("list experiments: %w", err)
	}
	var live []Info
	for _, id := range ids {
		info, err := readInfo(stateDir, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("list experiments: %w", err)
		}
		if info.Keeper.alive() {
			live = append(live, info)
		} else if !info.Guard.alive() { // else it is at it
			removeEntry(stateDir, id)
		}
	}
	slices.SortFunc(live, func(a, b Info) int { return a.Started.Compare(b.Started) })
	return live, nil
}

// liveIDs are the runs that have such a file in live/. A state directory that
// is not there yet has none.
func liveIDs(stateDir, ext string) ([]string, error) {
	files, err := os.ReadDir(filepath.Join(stateDir, "live"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var ids []string
	for _, f := range files {
		if id, ok := strings.CutSuffix(f.Name(), ext); ok {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func readInfo(stateDir, id string) (Info, error) {
	var info Info
	path := livePath(stateDir, id, ".json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	if err != nil {
		return info, fmt.Errorf("read %s: %w", path, err)
	}
	return info, nil
}

func writeInfo(stateDir string, info Info) error {
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return fmt.Errorf("write entry of %s: %w", info.ID, err)
	}
	path := livePath(stateDir, info.ID, ".json")
	return writeFile(path, path+".new", text)
}

// removeEntry removes how to reach a keeper that is gone, as far as it came
// with writing that.
func removeEntry(stateDir, id string) {
	os.Remove(livePath(stateDir, id, ".json"))
	os.Remove(livePath(stateDir, id, ".json.new"))
	os.Remove(livePath(stateDir, id, ".sock"))
	os.RemoveAll(socketDir(stateDir, id))
}

// lockRun takes a run's lock, which its guard makes and holds for as long as
// it lives. Nil means that somebody has it, or, without os.O_CREATE in flags,
// that there is none: nothing is left to undo.
func lockRun(stateDir, id string, flags int) (*flock.Flock, error) {
	path := livePath(stateDir, id, ".lock")
	for {
		lock := flock.New(path, flock.SetFlag(os.O_RDWR|flags), flock.SetPermissions(0o600))
		ok, err := lock.TryLock()
		if errors.Is(err, fs.ErrNotExist) && flags&os.O_CREATE == 0 {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("lock run %s: %w", id, err)
		}
		if !ok {
			return nil, lock.Close()
		}
		mine, err := lock.Stat()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock run %s: %w", id, err), lock.Close())
		}
		if there, err := os.Stat(path); err == nil && os.SameFile(mine, there) {
			return lock, nil
		}
		lock.Close() // of a file that its last owner removed meanwhile
	}
}

// Kept reports whether somebody takes care of a run: its guard is there, or another who
// cleans up after it. A run of dead ones is kept by nobody.
func Kept(stateDir, id string) bool {
	if _, err := os.Stat(livePath(stateDir, id, ".lock")); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	lock, _ := lockRun(stateDir, id, 0) // where it cannot be asked for, nobody is said to be dead
	if lock != nil {                    // left by a dead one, for HealDead
		lock.Close()
	}
	return lock == nil
}

// Settled waits until a run's guard has cleaned up after it and writes nothing
// below the state directory any more, or is dead and never will. Its error is
// that of ctx.
func Settled(ctx context.Context, stateDir, id string) error {
	for Kept(stateDir, id) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// finishRun removes a run's lock: nothing of it is left to undo.
func finishRun(lock *flock.Flock) {
	err := os.Remove(lock.Path())
	lock.Close()
	if err != nil { // Windows removes no open file
		os.Remove(lock.Path())
	}
}
