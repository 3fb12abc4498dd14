package keeper

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// A killed guard holds its lock until the last of its threads is gone. The run is healed
// then, and not called healthy.
func TestHealOfADyingGuard(t *testing.T) {
	state := t.TempDir()
	if err := OpenState(state); err != nil {
		t.Fatal(err)
	}
	const id = "1129-0000-hand-0000"
	if err := os.MkdirAll(runDir(state, id), 0o755); err != nil {
		t.Fatal(err)
	}
	dead := exec.Command("true")
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	gone, err := identify(dead.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := writeInfo(state, Info{ID: id, Dir: runDir(state, id), Keeper: gone, Guard: gone}); err != nil {
		t.Fatal(err)
	}
	lock := flock.New(livePath(state, id, ".lock"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		t.Fatal(ok, err)
	}
	time.AfterFunc(200*time.Millisecond, func() { lock.Close() })
	recovered := ""
	healed, err := HealDead(state, func(dir string) error { recovered = dir; return nil })
	if err != nil || !slices.Equal(healed, []string{id}) || recovered != runDir(state, id) {
		t.Errorf("healed %q, recovered %q, %v", healed, recovered, err)
	}
}
