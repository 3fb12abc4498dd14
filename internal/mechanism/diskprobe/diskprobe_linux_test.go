package diskprobe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestMain is also the helper.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "diskprobe" {
		if err := Main(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(hosttest.Alone(m))
}

func probe(t *testing.T, dir string) *Probe {
	p := New([]string{os.Args[0], "diskprobe"}, dir, nil)
	t.Cleanup(p.Close)
	return p
}

// Every operation can be done in a directory that is well, and nothing of it
// stays there.
func TestTouch(t *testing.T) {
	dir := t.TempDir()
	p := probe(t, dir)
	for _, op := range disk.Ops() {
		took, errno, err := p.Touch(t.Context(), string(op), 3)
		if took <= 0 || errno != "" || err != nil {
			t.Errorf("%s: %v %q %v", op, took, errno, err)
		}
	}
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
	if _, _, err := p.Touch(t.Context(), "melt", 1); err == nil || !strings.Contains(err.Error(), `no operation "melt"`) {
		t.Errorf("error %v", err)
	}
}

// An operation that is refused has a name; what cannot even be tried is an
// error.
func TestTouchRefused(t *testing.T) {
	p := probe(t, filepath.Join(t.TempDir(), "nowhere"))
	if _, errno, err := p.Touch(t.Context(), string(disk.Create), 1); errno != "ENOENT" || err != nil {
		t.Errorf("create: %q, %v", errno, err)
	}
	if _, errno, err := p.Touch(t.Context(), string(disk.Write), 1); errno != "" || err == nil {
		t.Errorf("write: %q, %v", errno, err)
	}
}

func TestByteAndCount(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": "xyz", disk.ProbePrefix + "-1": "no"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := probe(t, dir)
	if b, err := p.Byte(t.Context(), "a", 1); b != 'y' || err != nil {
		t.Errorf("%c, %v", b, err)
	}
	if _, err := p.Byte(t.Context(), "a", 3); err == nil {
		t.Error("a byte beyond the end")
	}
	if n, err := p.Count(t.Context()); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// A helper that hangs costs its caller no more than its time, and the next
// caller is served by another.
func TestHelperThatHangs(t *testing.T) {
	dir := t.TempDir()
	p := probe(t, dir)
	if _, _, err := p.Touch(t.Context(), string(disk.Write), 1); err != nil {
		t.Fatal(err)
	}
	if err := p.helper.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, _, err := p.Touch(ctx, string(disk.Write), 1); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
	if _, errno, err := p.Touch(t.Context(), string(disk.Write), 1); errno != "" || err != nil {
		t.Errorf("the next one: %q, %v", errno, err)
	}
}
