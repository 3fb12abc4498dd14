package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A process that somebody else started is continued when its keeper is dead,
// and a later one with its pid is not.
func TestUndoForeign(t *testing.T) {
	cmd, is := stopped(t)
	pid := cmd.Process.Pid
	entry := func(start uint64) Entry {
		return Entry{Fault: "f1", Layer: "foreign/node-1", Want: Running, Args: is(start)}
	}
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

// stopped is a frozen process, and how the journal knows one of its pid that began at a
// time.
func stopped(t *testing.T) (*exec.Cmd, func(start uint64) map[string]any) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitState(t, cmd.Process.Pid, "T")
	return cmd, func(start uint64) map[string]any {
		return map[string]any{"pid": float64(cmd.Process.Pid), "start": float64(start), "boot": strings.TrimSpace(string(boot))}
	}
}

// theirs is a node of which somebody else's process is the node.
type theirs struct {
	*fakeNode
	is map[string]any
}

func (n theirs) Foreign() map[string]any { return n.is }

func (n theirs) Can(want string) error {
	if want == Killed {
		return fmt.Errorf("%w: somebody else started it", ErrUnsupported)
	}
	return nil
}

// A process of somebody else whose pause could not be healed is continued when its
// cluster is given up.
func TestRetireForeign(t *testing.T) {
	cmd, is := stopped(t)
	synctest.Test(t, func(t *testing.T) {
		r := newRig(2)
		target := r.on(1)
		target.Nodes = []Node{theirs{r.nodes[0], is(startedAt(cmd.Process.Pid))}}
		l, err := r.Inject(t.Context(), request(t, "pause", 5), target)
		if err != nil {
			t.Fatal(err)
		}
		r.nodes[0].broken = errors.New("it cannot be reached")
		if _, err := r.Heal(t.Context(), l.Fault); err == nil {
			t.Fatal("it was healed")
		}
		if err := r.Retire(t.Context()); err != nil {
			t.Fatal(err)
		}
		if pending, err := Pending(r.lines); err != nil || len(pending) != 0 {
			t.Errorf("pending %v, %v", pending, err)
		}
	})
	awaitState(t, cmd.Process.Pid, "S")
}

// A fault that may end a process is refused where it could not be started again.
func TestForeignMayNotEnd(t *testing.T) {
	for _, typ := range []string{"fds", "pids", "memory"} {
		needs(t, typ)
		c := startReal(t, false)
		target := c.target(1)
		target.Nodes = []Node{foreignReal{c.nodes[0]}}
		soft := softFiles(t, c.nodes[0])
		l, err := c.Inject(t.Context(), resource(t, typ, nil, 60), target)
		if !errors.Is(err, ErrUnsupported) || l.State != history.Unsupported || !strings.Contains(err.Error(), "somebody else") {
			t.Errorf("%s: %s, %v", typ, l.State, err)
		}
		if now, left := softFiles(t, c.nodes[0]), c.groups(t); now != soft || len(left) > 0 {
			t.Errorf("%s: %d files, before %d; groups %q", typ, now, soft, left)
		}
	}
}

// foreignReal is a node of processes that somebody else started.
type foreignReal struct{ *realNode }

func (n foreignReal) Can(string) error {
	return fmt.Errorf("%w: somebody else started it", ErrUnsupported)
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
