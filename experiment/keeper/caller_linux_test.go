package keeper

import (
	"bufio"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestCallerKilled: what was being explored by hand is healed at once and
// stopped after its grace; a scenario goes on.
func TestCallerKilled(t *testing.T) {
	t.Parallel()
	t.Run("by hand", func(t *testing.T) {
		dir := stateDir(t)
		kill, id := startCaller(t, dir, "")
		watcher := quietStatus(t, dir)
		kill()
		eventually(t, leftBound, "healed and stopped", func() bool {
			st, err := watcher()
			return err != nil || len(st.Faults) == 0
		})
		nothingLeft(t, dir)
		eventually(t, leftBound, "no process of "+id, func() bool { return len(processesOf(id)) == 0 })
	})
	t.Run("scenario", func(t *testing.T) {
		dir := stateDir(t)
		kill, _ := startCaller(t, dir, "mqtt/some")
		kill()
		c, err := Connect(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if st, err := c.Status(t.Context()); err != nil || len(st.Faults) != 1 {
			t.Errorf("Status = %+v, %v, want its fault in place", st, err)
		}
		if _, err := c.Stop(t.Context(), Caller{}); err != nil {
			t.Fatal(err)
		}
		nothingLeft(t, dir)
	})
	t.Run("at random moments", func(t *testing.T) {
		for range 3 {
			dir := stateDir(t)
			cmd := callerCmd(t, dir, "")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(rand.N(200 * time.Millisecond)) // the random moment; nothing waits for it
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			cmd.Wait()
			if _, err := os.Stat(filepath.Join(dir, "live")); errors.Is(err, os.ErrNotExist) {
				continue // it had not begun
			}
			nothingLeft(t, dir)
		}
	})
}

// quietStatus asks without being present, as no client does.
func quietStatus(t *testing.T, dir string) func() (Status, error) {
	t.Helper()
	live, err := List(dir)
	if err != nil || len(live) != 1 {
		t.Fatalf("List = %v, %v, want one", live, err)
	}
	c := newClient(live[0])
	return func() (Status, error) { return c.Status(t.Context()) }
}

// startCaller starts a process that spawns an experiment and stays.
func startCaller(t *testing.T, dir, scenario string) (kill func(), id string) {
	t.Helper()
	cmd := callerCmd(t, dir, scenario)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		cmd.Wait()
		t.Fatal("the caller did not start an experiment")
	}
	return func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // its whole group, as hosts do
		cmd.Wait()
	}, lines.Text()
}

func callerCmd(t *testing.T, dir, scenario string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "caller", dir, scenario)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}
