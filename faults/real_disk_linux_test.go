package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
	"github.com/robustmq/rmq-mcp/internal/mechanism/diskprobe"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// served makes the test binary what serves a disk, or looks at one.
func served(command string, args []string) {
	var err error
	switch command {
	case "disk":
		err = disk.Main(context.Background(), args, os.Stdin, os.Stdout)
	case "diskprobe":
		err = diskprobe.Main(args, os.Stdin, os.Stdout)
	default:
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// scribble is a broker's storage: it writes a log in place, replaces a file by renaming
// another, and syncs a third, and another directory. No sync covers the log or the renames, so that bytes and
// an entry are pending at every moment after the first: see mount. Errors do not stop it.
func scribble(dir string) {
	const blocks, block = 100, 5000
	open := func(name string) *os.File {
		os.WriteFile(filepath.Join(dir, name), make([]byte, blocks*block), 0o600)
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0o600)
		if err != nil {
			return nil
		}
		f.Sync()
		return f
	}
	log, synced := open("log"), open("synced")
	if log == nil || synced == nil {
		return
	}
	part := filepath.Join(dir, "part")
	os.Mkdir(part, 0o700)
	text := []byte(strings.Repeat("x", block))
	for n := int64(0); ; n++ {
		log.WriteAt(text, n%blocks*block)
		next := filepath.Join(dir, "state.new")
		os.WriteFile(next, fmt.Appendf(nil, "state %d", n), 0o600)
		os.Rename(next, filepath.Join(dir, "state"))
		if n%10 == 0 {
			synced.WriteAt(text, 0)
			unix.Fdatasync(int(synced.Fd()))
			if d, err := os.Open(part); err == nil {
				d.ReadDir(-1)
				d.Sync()
				d.Close()
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// realDisks are three nodes of which the first two have disks, and node-2
// writes nothing.
type realDisks struct {
	*realCluster
	disks map[string]realDisk
	plain *diskprobe.Probe
}

type realDisk struct {
	*disk.Client
	probe *diskprobe.Probe
}

func (d realDisk) Touch(ctx context.Context, op disk.Op, times int) (Touched, error) {
	took, errno, err := d.probe.Touch(ctx, string(op), times)
	return Touched{took, errno}, err
}

func (d realDisk) Byte(ctx context.Context, path string, offset int64) (byte, error) {
	return d.probe.Byte(ctx, path, offset)
}

func (d realDisk) Count(ctx context.Context) (int, error) { return d.probe.Count(ctx) }

func (r *realDisks) Disk(node string) (Disk, error) {
	d, ok := r.disks[node]
	if !ok {
		return nil, fmt.Errorf("%w: start the cluster with arm [disk]", ErrUnsupported)
	}
	return d, nil
}

func (r *realDisks) Beside(ctx context.Context) (Touched, error) {
	took, errno, err := r.plain.Touch(ctx, string(disk.Fsync), 1)
	return Touched{took, errno}, err
}

func startRealDisks(t *testing.T) *realDisks {
	t.Helper()
	if err := disk.Available(); err != nil {
		hosttest.Skip(t, err.Error())
	}
	r := &realDisks{disks: map[string]realDisk{}, plain: diskprobe.New([]string{os.Args[0], "diskprobe"}, t.TempDir(), nil)}
	t.Cleanup(r.plain.Close)
	mounts := map[string]string{}
	for _, node := range []string{"node-1", "node-2"} {
		mounts[node] = r.mount(t, node)
	}
	r.realCluster = startRealNodes(t, false, map[string]string{"node-1": mounts["node-1"]})
	process := r.layers.open
	r.layers.open = func(name string) (Layer, error) {
		if node, ok := strings.CutPrefix(name, "disk/"); ok {
			d, err := r.Disk(node)
			return NewDiskLayer(d), err
		}
		return process(name)
	}
	return r
}

// mount puts a disk under a directory, and takes it away after the test's
// processes are gone. Nothing becomes durable by itself there: a commit just before a
// power loss would leave nothing to lose, and the fault would rightly not have landed.
func (r *realDisks) mount(t *testing.T, node string) string {
	dir := t.TempDir()
	mount := filepath.Join(dir, "data")
	if err := os.Mkdir(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := disk.Start(t.Context(), disk.Config{Mount: mount, Backing: filepath.Join(dir, "disk"), Model: disk.Strict()},
		disk.Options{Command: []string{os.Args[0], "disk"}, Log: os.Stderr})
	if errors.Is(err, errors.ErrUnsupported) {
		hosttest.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	d := realDisk{c, diskprobe.New([]string{os.Args[0], "diskprobe"}, mount, nil)}
	t.Cleanup(func() {
		d.probe.Close()
		if err := c.Close(context.Background()); err != nil && !t.Failed() {
			t.Logf("%s: %v", node, err)
		}
		disk.Release(dir)
	})
	r.disks[node] = d
	return mount
}

func (r *realDisks) on(numbers ...int) Target {
	t := r.realCluster.on(numbers...)
	t.Site.Disks = r
	return t
}

// Every disk fault on a real file system: on a node that writes it lands, on
// one that does not it never does.
func TestRealDiskFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault  string
		params map[string]any
		idle   history.LandingState // on node-2
	}{
		{"full", nil, history.NotLanded},
		{"slow", map[string]any{"delay_ms": 100, "op": "write"}, history.NotLanded},
		{"slow", map[string]any{"delay_ms": 100, "op": "any"}, history.NotLanded},
		{"slow", map[string]any{"delay_ms": 100, "op": "readdir"}, history.NotLanded},
		{"io_error", map[string]any{"op": "fsyncdir"}, history.NotLanded},
		{"io_error", map[string]any{"op": "write,fsync", "every": 3}, history.NotLanded},
		{"io_error", map[string]any{"op": "rename", "path": "state*", "errno": "EROFS"}, history.NotLanded},
		{"io_error", map[string]any{"op": "fsync", "percent": 50, "fsync_then": "lie"}, history.NotLanded},
		{"power_loss", nil, history.NotLanded},
		{"torn_write", map[string]any{"path": "log"}, history.NotLanded},
		{"lost_rename", nil, history.NotLanded},
		{"bit_rot", map[string]any{"bytes": 5}, history.NotLanded},
		{"lost_disk", nil, history.NotLanded},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.fault, test.params), func(t *testing.T) {
			t.Parallel()
			r := startRealDisks(t)
			params := map[string]any{"duration_s": 1.5}
			for key, value := range test.params {
				params[key] = value
			}
			for node, want := range map[int]history.LandingState{1: history.Landed, 2: test.idle} {
				l := r.undisturbed(t, test.fault, params, node)
				if l.State != want || l.Healed != history.HealVerified {
					t.Errorf("node-%d: %s %q, healed %s, want %s\n%s", node, l.State, l.Reasons, l.Healed, want, encode(l.Proofs))
				}
			}
			r.clean(t)
		})
	}
}

// undisturbed injects again, as the doctor does, if the disk of the control stood still meanwhile. The
// landing then says that it proves nothing.
func (r *realDisks) undisturbed(t *testing.T, fault string, params map[string]any, node int) (l history.Landing) {
	t.Helper()
	for range 3 {
		l = r.done(t, fault, params, node)
		if l.State != history.Indeterminate || l.Healed != history.HealVerified {
			return l
		}
		t.Logf("node-%d: %s %q", node, l.State, l.Reasons)
	}
	return l
}

func (r *realDisks) done(t *testing.T, fault string, params map[string]any, node int) history.Landing {
	t.Helper()
	req, err := Parse(fault, params)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Inject(t.Context(), req, r.on(node))
	if err != nil {
		t.Fatalf("%v\n%s", err, encode(l))
	}
	if l, err = r.Wait(t.Context(), l.Fault); err != nil {
		t.Fatal(err)
	}
	return l
}

// clean says what is left on the disks: nothing is to be.
func (r *realDisks) clean(t *testing.T) {
	t.Helper()
	for node, d := range r.disks {
		s, err := d.Stats(t.Context())
		if err != nil || len(s.Faults.Rules) > 0 || s.Faults.Limit != (disk.Limit{}) {
			t.Errorf("%s is left with %+v, %v", node, s.Faults, err)
		}
		if got, err := d.Touch(t.Context(), disk.Fsync, 1); err != nil || got.Errno != "" {
			t.Errorf("%s: %+v, %v", node, got, err)
		}
	}
}

// A disk whose process is stopped holds whoever touches it. Injecting, healing
// and letting go are bounded all the same, and nothing is called healed that
// was not read back.
func TestRealDiskThatHangs(t *testing.T) {
	hosttest.Long(t, "it waits for bounds")
	t.Parallel()
	r := startRealDisks(t)
	r.opt.Recovery = 3 * time.Second
	l := r.inject(t, "slow", map[string]any{"duration_s": 60, "op": "write"}, 1)
	d := r.disks["node-1"]
	stopProcess(t, d.Info().PID)
	began := time.Now()
	l, err := r.Heal(t.Context(), l.Fault)
	if err == nil || l.Healed != history.HealFailed || time.Since(began) > hosttest.Bound {
		t.Errorf("healed %s, %v, after %v", l.Healed, err, time.Since(began))
	}
	if err := d.Abort(); err != nil {
		t.Error(err)
	}
	began = time.Now()
	r.nodes[0].end() // it may hang in the mount
	if time.Since(began) > hosttest.Bound {
		t.Errorf("whoever waited for the disk was free after %v", time.Since(began))
	}
	if err := r.nodes[0].start(); err != nil { // its cleanup ends it once more
		t.Fatal(err)
	}
}

func (r *realDisks) inject(t *testing.T, fault string, params map[string]any, node int) history.Landing {
	t.Helper()
	req, err := Parse(fault, params)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Inject(t.Context(), req, r.on(node))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// After the death of client and process a dead mount is left where there are no
// namespaces, and the undoer takes it away. It may be called again.
func TestUndoDisk(t *testing.T) {
	r := startRealDisks(t)
	d := r.disks["node-2"]
	entry := diskEntry(r.nodes[1], d, wantLimit, diskArgs{})
	entry.Fault = "f1"
	stopProcess(t, d.Info().PID)
	for i := range 2 {
		healed, err := Recover(t.Context(), []Entry{entry}, Undoers())
		if err != nil || len(healed) != 1 || i == 0 && !strings.Contains(healed[0].Did, "still mounted") {
			t.Errorf("%+v, %v", healed, err)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), d.Info().Mount) {
		t.Errorf("%s is still mounted, %v", d.Info().Mount, err)
	}
	if _, err := os.ReadDir(d.Info().Mount); err != nil {
		t.Error(err)
	}
	if _, err := os.ReadDir(r.disks["node-1"].Info().Mount); err != nil {
		t.Errorf("somebody else's disk: %v", err)
	}
}

func stopProcess(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
}
