package faults

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A process that somebody else started is continued when its keeper is dead,
// and a later one with its pid is not.
func TestUndoForeign(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	pid := cmd.Process.Pid
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	entry := func(start uint64) Entry {
		return Entry{Fault: "f1", Layer: "foreign/node-1", Want: Running, Args: map[string]any{
			"pid": float64(pid), "start": float64(start), "boot": strings.TrimSpace(string(boot))}}
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitState(t, pid, "T")
	for _, other := range []uint64{0, startedAt(pid) + 1} {
		if _, err := Recover(t.Context(), []Entry{entry(other)}, Undoers()); err != nil {
			t.Error(err)
		}
		awaitState(t, pid, "T")
	}
	healed, err := Recover(t.Context(), []Entry{entry(startedAt(pid))}, Undoers())
	if err != nil || len(healed) != 1 {
		t.Errorf("%+v, %v", healed, err)
	}
	awaitState(t, pid, "S")
}

func awaitState(t *testing.T, pid int, want string) {
	t.Helper()
	path := fmt.Sprintf("/proc/%d/stat", pid)
	for deadline := time.Now().Add(hosttest.Bound); ; time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), ") "+want+" ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d is not in state %s: %s", pid, want, text)
		}
	}
}
