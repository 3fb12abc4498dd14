package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// From a cut on, nothing that is synced is acknowledged.
func TestCut(t *testing.T) {
	c, dir := started(t, Ext4())
	p := program{t, dir}
	p.write("a", "old", 0, "fsync")
	pending, err := c.Cut(t.Context())
	p.must(err)
	if !pending.Nothing() {
		t.Errorf("%+v", pending)
	}
	broker := exec.Command("dd", "of=a", "conv=fsync,notrunc", "status=none")
	broker.Dir, broker.Stdin = dir, strings.NewReader("NEW")
	p.start(broker)
	eventually(t, func() bool { s, err := c.Stats(t.Context()); return err == nil && s.Ops[Fsync] == 2 })
	p.must(broker.Process.Kill())
	_ = broker.Wait() // killed
	o, err := c.Crash(t.Context(), Crash{Policy: LoseAll})
	p.must(err)
	if got := contents(t, dir); got != "a=old" || o.Dropped != (Loss{1, 3, 0}) {
		t.Errorf("left %q, %+v", got, o)
	}
	p.write("a", "new", 0, "fsync")
	if p, err := c.Report(t.Context()); err != nil || !p.Nothing() {
		t.Errorf("after it: %+v, %v", p, err)
	}
}

// The kernel writes bytes by itself after a time, and they are then durable.
func TestWriteback(t *testing.T) {
	c, dir := started(t, Model{Name: "quick", Journal: true, Commit: time.Millisecond, Writeback: time.Millisecond})
	p := program{t, dir}
	p.write("a", "x", 0, "")
	eventually(t, func() bool { p, err := c.Report(t.Context()); return err == nil && p.Operations == 0 })
	o, err := c.Crash(t.Context(), Crash{Policy: LoseAll})
	p.must(err)
	if got := contents(t, dir); got != "a=x" || !o.Dropped.Nothing() {
		t.Errorf("left %q, %+v", got, o)
	}
}

// A change through a mapping that nobody has synced is seen, and lost in a crash.
func TestMapped(t *testing.T) {
	c, dir := started(t, never(Ext4()))
	p := program{t, dir}
	p.write("a", strings.Repeat("o", 4096), 0, "fsync")
	f, err := os.OpenFile(p.path("a"), os.O_RDWR, 0)
	p.must(err)
	defer f.Close()
	m, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	p.must(err)
	defer unix.Munmap(m)
	m[0] = 'N'
	if pending, err := c.Report(t.Context()); err != nil || pending.Loss != (Loss{1, 4096, 0}) {
		t.Errorf("%+v, %v", pending, err)
	}
	m[1] = 'N'
	o, err := c.Crash(t.Context(), Crash{Policy: LoseAll})
	if err != nil || o.Dropped != (Loss{1, 8192, 0}) || string(m[:3]) != "ooo" {
		t.Errorf("%+v, %v, mapped %q", o, err, m[:3])
	}
}

// The data kept for taking back is bounded: beyond the bound, the oldest is written
// back.
func TestBounded(t *testing.T) {
	for _, by := range []string{"operations", "bytes"} {
		tr := newTestTree(t, memory(t), Strict())
		tr.maxOps, tr.maxSpool = 40, 1<<20
		if by == "bytes" {
			tr.maxOps, tr.maxSpool = 1000, 4000
		}
		for i := range 10 {
			x, err := tr.make(slot{tr.root, fmt.Sprint(i)}, unix.S_IFREG, func(path string) error { return os.WriteFile(path, nil, 0o600) })
			if err == nil {
				_, err = tr.open(x)
			}
			for range 10 {
				if err == nil {
					_, err = tr.write(x, make([]byte, 100), 0)
				}
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		tr.tick()
		files := tr.pendingFiles()
		if len(files) == 0 || len(files) > 5 || files[len(files)-1].places[0].name != "9" || tr.spool.held() > tr.maxSpool/2+900 {
			t.Errorf("%s: %d files pending, %d bytes kept", by, len(files), tr.spool.held())
		}
	}
}

func TestRotAndErase(t *testing.T) {
	c, dir := started(t, Ext4())
	p := program{t, dir}
	p.must(os.Mkdir(p.path("d"), 0o755))
	p.write("d/a", "abc", 0, "")
	p.write("keep", "k", 0, "")
	if _, err := c.Rot(t.Context(), Rot{Path: "d/a", Offset: 3}); err == nil {
		t.Error("a byte beyond the end was flipped")
	}
	rotten := rotWhenReleased(t, c, p.path("d/a"), Rot{Path: "d/a", Offset: 1, Bit: 0})
	if got := contents(t, dir); got != "d/a=acc keep=k" || rotten.Before.SHA256 == rotten.After.SHA256 || rotten.From != 'b' || rotten.To != 'c' {
		t.Errorf("%q, %+v", got, rotten)
	}
	loss, err := c.Erase(t.Context(), "keep")
	p.must(err)
	if got := contents(t, dir); got != "keep=k" || loss != (Loss{1, 3, 2}) {
		t.Errorf("%q, %+v", got, loss)
	}
	files, err := c.Files(t.Context())
	if err != nil || len(files) != 1 || files[0].Path != "keep" {
		t.Errorf("%+v, %v", files, err)
	}
}

// rotWhenReleased flips a bit of an open file: the layer refuses until the file is closed.
func rotWhenReleased(t *testing.T, c *Client, path string, r Rot) Rotten {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := c.Rot(t.Context(), r); err == nil || !strings.Contains(err.Error(), "is open") {
		t.Errorf("a bit of an open file was flipped: %v", err)
	}
	done := make(chan Rotten)
	go func() {
		rotten, err := c.Rot(t.Context(), r)
		if err != nil {
			t.Error(err)
		}
		done <- rotten
	}()
	f.Close()
	return <-done
}

// Files from before the mount are there through the mount, and after it.
func TestTakeOverAndGiveBack(t *testing.T) {
	c, dir := started(t, Ext4())
	p := program{t, dir}
	p.write("a", "x", 0, "")
	p.must(c.Close(t.Context()))
	if got := contents(t, dir); got != "a=x" {
		t.Errorf("given back: %q", got)
	}
	info := c.Info()
	if _, err := os.Stat(info.Backing); !errors.Is(err, os.ErrNotExist) {
		t.Error("backing:", err)
	}
	d := startedWith(t, Config{Mount: info.Mount, Backing: info.Backing})
	p.write("b", "y", 0, "")
	if _, err := Start(t.Context(), Config{Mount: info.Mount, Backing: info.Backing + "2"}, Options{Command: []string{"/proc/self/exe", "disk"}}); err == nil {
		t.Error("a second layer over the first")
	}
	if pending, err := d.Report(t.Context()); err != nil || pending.Loss != (Loss{1, 1, 1}) {
		t.Errorf("%+v, %v", pending, err)
	}
	if got := contents(t, dir); got != "a=x b=y" {
		t.Errorf("taken over: %q", got)
	}
}

// A process that copies the mount namespace, as creating one does, has the mount for
// as long as the copy lives. The layer ends all the same.
func TestEndsWhileACopyOfItsMountLives(t *testing.T) {
	c, dir := started(t, Ext4())
	p := program{t, dir}
	p.write("a", "x", 0, "")
	other := exec.Command("sleep", "600")
	other.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	p.must(other.Start())
	defer func() { other.Process.Kill(); other.Wait() }()
	copied := func() bool {
		mounts, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", other.Process.Pid))
		return err == nil && strings.Contains(string(mounts), dir)
	}
	eventually(t, copied)
	p.must(c.Close(t.Context()))
	if got := contents(t, dir); got != "a=x" {
		t.Errorf("given back: %q", got)
	}
	if !copied() {
		t.Error("the copy was gone before")
	}
}

// A process that waits for a stopped or killed layer can be ended, and no mount is
// left.
func TestStoppedAndKilled(t *testing.T) {
	for _, how := range []string{"SIGSTOP", "SIGKILL"} {
		t.Run(how, func(t *testing.T) {
			c, dir := started(t, Ext4())
			p := program{t, dir}
			p.write("a", "x", 0, "")
			f, err := os.OpenFile(p.path("a"), os.O_RDWR, 0)
			p.must(err)
			defer f.Close()
			p.must(unix.Kill(c.Info().PID, unix.SignalNum(how)))
			if how == "SIGSTOP" {
				eventually(t, func() bool { return stopped(c.Info().PID) })
			}
			user := make(chan error, 1)
			go func() { _, err := f.WriteAt([]byte("y"), 0); user <- err }()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			if _, err := c.Report(ctx); err == nil {
				t.Error("it answered")
			} else {
				t.Log(err)
			}
			p.must(c.Abort())
			select {
			case err := <-user:
				if err == nil {
					t.Error("written, by nobody")
				}
			case <-time.After(hosttest.Bound):
				t.Fatal("the user of the mount hangs")
			}
			<-c.Gone()
			if n, err := connection(dir); n != 0 || err != nil {
				t.Error("still mounted:", n, err)
			}
			b, err := os.ReadFile(filepath.Join(c.Info().Tree, "a"))
			if err != nil || len(b) != 1 {
				t.Errorf("its data: %q, %v", b, err)
			}
		})
	}
}

// stopped says whether every thread of a process is.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(stat), ") T ") {
			return false
		}
	}
	return err == nil && len(threads) > 0
}

// The layer ends with its client's end of the pipe, also while it is used.
func TestClientGone(t *testing.T) {
	c, dir := started(t, Ext4())
	p := program{t, dir}
	f, err := os.Create(p.path("a"))
	p.must(err)
	defer f.Close()
	_, err = io.WriteString(f, "x")
	p.must(err)
	p.must(c.stdin.Close())
	select {
	case <-c.Gone():
	case <-time.After(hosttest.Bound):
		t.Fatal("it goes on")
	}
	if _, err := io.WriteString(f, "y"); err == nil {
		t.Error("written, by nobody")
	}
	if got := contents(t, dir); got != "a=x" {
		t.Errorf("given back: %q", got)
	}
}
