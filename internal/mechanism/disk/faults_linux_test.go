package disk

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// An operation that a rule is about fails as told, another does not, and each
// hit is counted once.
func TestErrors(t *testing.T) {
	c, dir := started(t, never(Ext4()))
	p := program{t, dir}
	p.write("a.wal", "old", 0, "fsync")
	p.must(os.Mkdir(p.path("d"), 0o755))
	write := func() error { return os.WriteFile(p.path("a.wal"), []byte("x"), 0o644) }
	tests := []struct {
		rule  Rule
		do    func() error
		errno error
	}{
		{Rule{Ops: []Op{Write}, Errno: "EIO", Path: "*.wal"}, write, unix.EIO},
		{Rule{Ops: []Op{Write}, Errno: "EIO", Path: "*.log"}, write, nil},
		{Rule{Ops: []Op{Open}, Errno: "EMFILE"}, write, unix.EMFILE},
		{Rule{Ops: []Op{Truncate}, Errno: "EROFS"}, write, unix.EROFS},
		{Rule{Ops: []Op{Read}, Errno: "EIO"}, func() error { _, err := os.ReadFile(p.path("a.wal")); return err }, unix.EIO},
		{Rule{Ops: []Op{Create}, Errno: "ENOSPC", Path: "d/**"}, func() error { return os.WriteFile(p.path("d/n"), nil, 0o644) }, unix.ENOSPC},
		{Rule{Ops: []Op{Mkdir}, Errno: "EACCES"}, func() error { return os.Mkdir(p.path("d/e"), 0o755) }, unix.EACCES},
		{Rule{Ops: []Op{Rename}, Errno: "EIO", Path: "to"}, func() error { return os.Rename(p.path("a.wal"), p.path("to")) }, unix.EIO},
		{Rule{Ops: []Op{Unlink}, Errno: "EBUSY"}, func() error { return os.Remove(p.path("a.wal")) }, unix.EBUSY},
		{Rule{Ops: []Op{Rmdir}, Errno: "EIO"}, func() error { return unix.Rmdir(p.path("d")) }, unix.EIO},
		{Rule{Ops: []Op{Link}, Errno: "EIO"}, func() error { return os.Link(p.path("a.wal"), p.path("l")) }, unix.EIO},
		{Rule{Ops: []Op{ReadDir}, Errno: "EIO"}, func() error { _, err := os.ReadDir(dir); return err }, unix.EIO},
		{Rule{Ops: []Op{FsyncDir}, Errno: "EIO"}, func() error { return syncPath(dir) }, unix.EIO},
		{Rule{Ops: []Op{Stat}, Errno: "EIO", Path: "a.wal"}, func() error { _, err := os.Stat(p.path("a.wal")); return err }, unix.EIO},
		{Rule{Ops: []Op{Allocate}, Errno: "ENOSPC"}, func() error { return allocate(p.path("a.wal")) }, unix.ENOSPC},
	}
	for _, test := range tests {
		test.rule.ID = "r"
		p.must(c.Set(t.Context(), Faults{Rules: []Rule{test.rule}}))
		err := test.do()
		if test.errno == nil && err != nil || test.errno != nil && !errors.Is(err, test.errno) {
			t.Errorf("%v %s: answered %v, want %v", test.rule.Ops, test.rule.Path, err, test.errno)
		}
		stats, err := c.Stats(t.Context())
		p.must(err)
		hits := stats.Rules["r"]
		if (hits.Hits > 0) != (test.errno != nil) || hits.Hits != int64(len(hits.Last)) {
			t.Errorf("%v: %+v", test.rule.Ops, hits)
		}
		if hits.Hits > 0 && (hits.Last[0].Op != test.rule.Ops[0] || hits.Last[0].Errno != test.rule.Errno) {
			t.Errorf("%v: %+v", test.rule.Ops, hits.Last[0])
		}
		p.must(c.Set(t.Context(), Faults{}))
	}
	if err := write(); err != nil {
		t.Error("without rules:", err)
	}
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

func allocate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fallocate(int(f.Fd()), 0, 0, 1<<20)
}

// After a failed fsync the bytes are gone and the next one succeeds; or they
// stay and the next one fails too; or it tells the truth.
func TestFailedFsync(t *testing.T) {
	for _, test := range []struct {
		failed Failed
		again  bool // the second fsync succeeds
		seen   string
		left   string
	}{
		{FailedLoses, true, "old\x00\x00", "old\x00\x00"},
		{FailedKeeps, false, "NEWER", "old"},
		{FailedOnce, true, "NEWER", "NEWER"},
	} {
		t.Run(string(test.failed), func(t *testing.T) {
			c, dir := started(t, never(Ext4()))
			p := program{t, dir}
			p.write("a", "old", 0, "fsync")
			f, err := os.OpenFile(p.path("a"), os.O_RDWR, 0)
			p.must(err)
			defer f.Close()
			p.must(c.Set(t.Context(), Faults{Rules: []Rule{{ID: "r", Ops: []Op{Fsync}, Errno: "EIO", Max: 1, Failed: test.failed}}}))
			_, err = f.WriteAt([]byte("NEWER"), 0)
			p.must(err)
			if err := f.Sync(); !errors.Is(err, unix.EIO) {
				t.Fatal("the first fsync answered", err)
			}
			if err := f.Sync(); (err == nil) != test.again {
				t.Error("the second fsync answered", err)
			}
			eventually(t, func() bool { return contents(t, dir) == "a="+test.seen })
			p.must(c.Set(t.Context(), Faults{}))
			_, err = c.Crash(t.Context(), Crash{Policy: LoseAll})
			p.must(err)
			if got := contents(t, dir); got != "a="+test.left {
				t.Errorf("left %q, want %q", got, test.left)
			}
		})
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(hosttest.Bound); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v", hosttest.Bound)
		}
	}
}

// A full disk takes what fits and no more, and says so.
func TestFull(t *testing.T) {
	c, dir := started(t, never(Ext4()))
	p := program{t, dir}
	p.must(c.Set(t.Context(), Faults{Limit: Limit{Bytes: 3 * 4096, Inodes: 2}}))
	f, err := os.Create(p.path("a"))
	p.must(err)
	defer f.Close()
	n, err := f.Write(make([]byte, 20000))
	if n != 3*4096 || !errors.Is(err, unix.ENOSPC) {
		t.Errorf("wrote %d, %v", n, err)
	}
	var st unix.Statfs_t
	p.must(unix.Statfs(dir, &st))
	if st.Bavail != 0 || int64(st.Blocks)*st.Bsize != 3*4096 {
		t.Errorf("statfs: %d of %d blocks of %d are free", st.Bavail, st.Blocks, st.Bsize)
	}
	_, err = f.WriteAt([]byte("there is room in what is there"), 0)
	p.must(err)
	p.must(os.WriteFile(p.path("b"), nil, 0o644))
	if err := os.WriteFile(p.path("c"), nil, 0o644); !errors.Is(err, unix.ENOSPC) {
		t.Error("a third file:", err)
	}
	stats, err := c.Stats(t.Context())
	p.must(err)
	if stats.Full.Hits != 1 || stats.FullFiles.Hits != 1 || stats.Usage.Bytes != 3*4096 || stats.Usage.Inodes != 2 {
		t.Errorf("%+v", stats)
	}
	p.must(f.Truncate(0))
	p.must(os.Remove(p.path("b")))
	p.must(os.WriteFile(p.path("c"), make([]byte, 4096), 0o644))
	p.must(c.Set(t.Context(), Faults{}))
	p.must(os.WriteFile(p.path("d"), make([]byte, 1<<20), 0o644))
	p.must(c.Set(t.Context(), Faults{Limit: Limit{Bytes: 1}}))
	p.must(unix.Statfs(dir, &st))
	if st.Bavail != 0 || int64(st.Blocks)*st.Bsize != 1<<20+4096 {
		t.Errorf("statfs of a disk that holds more than it may: %d of %d blocks of %d are free", st.Bavail, st.Blocks, st.Bsize)
	}
}

// A probe follows the rules and is counted apart, and takes no turn of the
// broker's.
func TestProbe(t *testing.T) {
	c, dir := started(t, never(Ext4()))
	p := program{t, dir}
	p.must(c.Set(t.Context(), Faults{Rules: []Rule{{ID: "r", Ops: []Op{Create}, Errno: "EIO", Every: 2}}}))
	create := func(name string) error { return os.WriteFile(p.path(name), nil, 0o644) }
	for i, want := range []error{nil, unix.EIO} {
		for _, name := range []string{ProbePrefix + "-1", "a"} {
			if err := create(name + string(rune('0'+i))); !errors.Is(err, want) {
				t.Errorf("%s %d: %v, want %v", name, i, err, want)
			}
		}
	}
	stats, err := c.Stats(t.Context())
	p.must(err)
	if r := stats.Rules["r"]; r.Hits != 1 || r.Probes != 1 || r.Matched != 2 {
		t.Errorf("%+v", r)
	}
	if stats.Ops[Create] != 2 || stats.Probes[Create] != 2 {
		t.Errorf("ops %v, probes %v", stats.Ops, stats.Probes)
	}
}

// The third write to a file is held, until it is told to go on or its process
// is killed.
func TestHold(t *testing.T) {
	for _, end := range []string{"resume", "kill"} {
		t.Run(end, func(t *testing.T) {
			c, dir := started(t, never(Ext4()))
			p := program{t, dir}
			p.must(c.Set(t.Context(), Faults{Rules: []Rule{{ID: "r", Ops: []Op{Write}, Path: "a", Skip: 2, Max: 1, Hold: HoldAfter}}}))
			cmd := p.shell("for i in 1 2 3 4; do echo $i >>a; done")
			hit, err := c.Wait(t.Context(), "r")
			p.must(err)
			if hit.Op != Write || hit.Path != "a" || hit.Offset != 4 {
				t.Errorf("%+v", hit)
			}
			eventually(t, func() bool { return contents(t, c.Info().Tree) == "a=1\n2\n3\n" }) // through the mount it would wait as well
			if end == "kill" {
				p.must(cmd.Process.Kill())
			} else {
				p.must(c.Resume(t.Context(), "r"))
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				if (err == nil) != (end == "resume") {
					t.Error(err)
				}
			case <-time.After(hosttest.Bound):
				t.Fatal("it is held for ever")
			}
		})
	}
}

// A delay ends with its rule: an operation that waits when the fault is healed goes on, and
// one that another rule delays goes on waiting.
func TestSlowEndsWithItsRule(t *testing.T) {
	c, dir := started(t, never(Ext4()))
	p := program{t, dir}
	other := Rule{ID: "other", Ops: []Op{Fsync}, Delay: 50 * time.Millisecond}
	p.must(c.Set(t.Context(), Faults{Rules: []Rule{{ID: "r", Ops: []Op{Write}, Delay: time.Hour}, other}}))
	cmd := p.shell("echo x >b")
	eventually(t, func() bool { s, err := c.Stats(t.Context()); return err == nil && s.Rules["r"].Hits == 1 })
	p.must(c.Set(t.Context(), Faults{Rules: []Rule{other}}))
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		p.must(err)
	case <-time.After(hosttest.Bound):
		t.Fatal("it waits for the delay of a rule that is gone")
	}
	start := time.Now()
	p.write("a", "x", 0, "fsync")
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Error("took", took)
	}
}

// A delay is one of the operations that are named, and a kill shortens it.
func TestSlow(t *testing.T) {
	c, dir := started(t, never(Ext4()))
	p := program{t, dir}
	p.must(c.Set(t.Context(), Faults{Rules: []Rule{{ID: "r", Ops: []Op{Fsync}, Delay: 50 * time.Millisecond}}}))
	start := time.Now()
	p.write("a", "x", 0, "fsync")
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Error("took", took)
	}
	p.must(c.Set(t.Context(), Faults{Rules: []Rule{{ID: "r", Ops: []Op{Write}, Delay: time.Hour}}}))
	cmd := p.shell("echo x >b")
	eventually(t, func() bool { s, err := c.Stats(t.Context()); return err == nil && s.Rules["r"].Hits == 1 })
	p.must(cmd.Process.Kill())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(hosttest.Bound):
		t.Fatal("a killed process waits for the delay")
	}
}
