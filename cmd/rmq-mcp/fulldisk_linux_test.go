package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestAStateDirectoryThatFillsUp: the run ends, is sealed and judged, says why, and
// leaves nothing to heal.
func TestAStateDirectoryThatFillsUp(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	if !hosttest.Inside(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=160m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	cmd := rmq(t, dir, "run", "mqtt/broker-kill-9")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	begun := func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, "runs", "*", "evidence", "history.arrow"))
		if len(files) != 1 {
			return false
		}
		info, err := os.Stat(files[0])
		return err == nil && info.Size() > 100<<10 // traffic flows
	}
	for until := time.Now().Add(hosttest.Bound); !begun(); time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-ended:
			t.Fatalf("the run ended before there was traffic: %v\n%s", err, out.String())
		default:
		}
		if time.Now().After(until) {
			t.Fatal("no traffic")
		}
	}
	fill(t, filepath.Join(dir, "filler"))
	var status *exec.ExitError
	if err := <-ended; !errors.As(err, &status) || status.ExitCode() != exitHarness {
		t.Errorf("the run ended with %v:\n%s", err, out.String())
	}
	for _, want := range []string{"no space left on device", "INCONCLUSIVE", "report"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the run does not say %q:\n%s", want, out.String())
		}
	}
	if rows, code := said(t, dir, "list", "runs"); code != 0 || !strings.Contains(rows, "INCONCLUSIVE") || strings.Contains(rows, "tries again") {
		t.Errorf("list runs: exit %d\n%s", code, rows)
	}
	if healed, code := said(t, dir, "heal"); code != 0 || !strings.Contains(healed, "nothing to heal") {
		t.Errorf("heal: exit %d\n%s", code, healed)
	}
	fill(t, filepath.Join(dir, "more"))
	if out, code := said(t, dir, "run", "mqtt/broker-kill-9"); code == 0 || !strings.Contains(out, "no space left on device") || !strings.Contains(out, "free some space") {
		t.Errorf("another run on the full disk: exit %d\n%s", code, out)
	}
	if rows, code := said(t, dir, "list", "runs"); code != 0 || strings.Count(rows, "\n") != 2 {
		t.Errorf("after a run that could not begin: exit %d\n%s", code, rows)
	}
}

// fill writes a file until the disk has no room.
func fill(t *testing.T, path string) {
	t.Helper()
	filler, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	for err == nil {
		_, err = filler.Write(make([]byte, 64<<10))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}
