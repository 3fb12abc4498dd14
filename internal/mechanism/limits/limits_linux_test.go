package limits

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// hybrid is a host with version 1 controllers and an empty version 2 tree,
// unified one with everything in version 2.
const (
	hybrid = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 /docker/ab /sys/fs/cgroup/mem\040ory rw shared:5 - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`
	member = `9:name=systemd:/
4:memory:/docker/ab/c
1:cpu,cpuacct:/a:b
0::/x
`
)

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		c            Controller
		mount, group string
	}{
		{CPU, "/sys/fs/cgroup/cpu,cpuacct", "/a:b"},
		{Memory, "/sys/fs/cgroup/mem ory", "/docker/ab/c"},
		{Pids, "/sys/fs/cgroup/unified", "/x"},
	} {
		h, group, err := choose(hierarchies(hybrid), memberships(member), test.c)
		if err != nil || h.mount != test.mount || group != test.group {
			t.Errorf("%s: %s in %s, %v; want %s in %s", test.c, group, h.mount, err, test.group, test.mount)
		}
	}
	if _, _, err := choose(hierarchies("1 2 0:1 / / rw - ext4 sda rw"), memberships(member), CPU); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("without a tree: %v", err)
	}
}

// In version 2 a group is made below the nearest one that hands the controller
// down, and one that hands down everything is preferred.
func TestNearest(t *testing.T) {
	root := t.TempDir()
	for dir, control := range map[string]string{
		"": "cpu memory pids", "slice": "memory pids", "slice/scope": "",
	} {
		fake(t, filepath.Join(root, dir), map[string]string{"cgroup.subtree_control": control, "cgroup.procs": "", "cgroup.controllers": ""})
	}
	h := hierarchy{mount: root, root: "/", unified: true}
	own := filepath.Join(root, "slice/scope")
	if got, err := h.nearest(own, Memory); got != root || err != nil {
		t.Errorf("one for all: %s, %v", got, err)
	}
	fake(t, root, map[string]string{"cgroup.subtree_control": "memory pids"})
	if got, err := h.nearest(own, Memory); got != filepath.Join(root, "slice") && got != root || err != nil {
		t.Errorf("memory: %s, %v", got, err)
	}
	_, err := h.nearest(own, CPU)
	if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "echo +cpu > "+root) {
		t.Errorf("nobody hands cpu down: %v", err)
	}
	if _, err := h.dir("/../elsewhere"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("outside of what is mounted: %v", err)
	}
}

// TestSet writes the files of both versions and reads them back.
func TestSet(t *testing.T) {
	percent, tasks := 12.5, 7
	l := Limits{CPUPercent: &percent, Memory: &MemoryLimit{Bytes: 64 << 20, Stall: true}, Tasks: &tasks}
	for version, files := range map[string]map[string]string{
		"1": {"cpu.cfs_quota_us": "12500", "memory.limit_in_bytes": "67108864", "memory.memsw.limit_in_bytes": "68157440", "pids.max": "7"},
		"2": {"cpu.max": "12500 100000", "memory.high": "67108864", "memory.max": "max", "pids.max": "7"},
	} {
		dir := filepath.Join(t.TempDir(), Name("run", "node-1"))
		empty := map[string]string{}
		for name := range files {
			empty[name] = ""
		}
		if version == "2" {
			empty["cgroup.controllers"] = ""
		} else {
			empty["memory.oom_control"] = ""
		}
		fake(t, dir, empty)
		if err := set(dir, l); err != nil {
			t.Fatalf("version %s: %v", version, err)
		}
		for name, want := range files {
			if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
				t.Errorf("version %s: %s is %q, want %q", version, name, got, want)
			}
		}
		if version == "1" { // the kernel's own words
			fake(t, dir, map[string]string{"memory.oom_control": "oom_kill_disable 1\nunder_oom 0\n"})
		}
		if got, err := Shown(dir); err != nil || cmp.Diff(l, got) != "" {
			t.Errorf("version %s: %v\n%s", version, err, cmp.Diff(l, got))
		}
	}
	dir := filepath.Join(t.TempDir(), Name("run", "node-1"))
	fake(t, dir, map[string]string{"cgroup.controllers": ""})
	if err := set(dir, l); err == nil {
		t.Error("a group without the controllers took a limit")
	}
	if err := set(dir, Limits{}); err != nil {
		t.Errorf("no limit in a group without controllers: %v", err)
	}
}

func TestCount(t *testing.T) {
	dir := t.TempDir()
	fake(t, dir, map[string]string{
		"cpu.stat":      "nr_periods 9\nnr_throttled 4\nthrottled_usec 1\n",
		"memory.events": "low 0\nhigh 3\nmax 2\noom 1\noom_kill 1\n",
		"pids.events":   "max 5\n",
	})
	got, err := Count(dir)
	if want := (Counters{Throttled: 4, Reclaims: 5, Kills: 1, Refused: 5}); got != want || err != nil {
		t.Errorf("version 2: %+v, %v, want %+v", got, err, want)
	}
	dir = t.TempDir()
	fake(t, dir, map[string]string{"memory.failcnt": "6\n", "memory.oom_control": "oom_kill_disable 0\nunder_oom 1\noom_kill 2\n"})
	got, err = Count(dir)
	if want := (Counters{Reclaims: 7, Kills: 2}); got != want || err != nil {
		t.Errorf("version 1: %+v, %v, want %+v", got, err, want)
	}
	if got, err = Count(filepath.Join(dir, "none")); got != (Counters{}) || err != nil {
		t.Errorf("no group: %+v, %v", got, err)
	}
}

// Only groups with our name are written or removed, whatever a journal says.
func TestOnlyOurs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "system.slice")
	fake(t, dir, map[string]string{"cgroup.procs": ""})
	for _, dir := range []string{dir, "", "/", "/sys/fs/cgroup", filepath.Dir(dir) + "/" + prefix} {
		if Put(dir, Limits{}, os.Getpid()) == nil || Take(dir, "") == nil {
			t.Errorf("%q was touched", dir)
		}
	}
	if got := Name("a/../b", "c"); strings.Contains(got, "/") {
		t.Errorf("a name with a slash: %s", got)
	}
}

// A real process in a real group, and out of it.
func TestGroup(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	pid := cmd.Process.Pid
	for _, c := range []Controller{CPU, Memory, Pids} {
		place, err := Find(pid, c, Name(t.Name(), string(c)))
		if err != nil {
			hosttest.Skip(t, err.Error())
		}
		t.Cleanup(func() { Take(place.Dir, place.Back) })
		percent, tasks := 50.0, 3
		l := map[Controller]Limits{
			CPU:    {CPUPercent: &percent},
			Memory: {Memory: &MemoryLimit{Bytes: 32 << 20}},
			Pids:   {Tasks: &tasks},
		}[c]
		if err := Put(place.Dir, l, pid); err != nil {
			t.Fatal(err)
		}
		got, err := Shown(place.Dir)
		if err != nil || cmp.Diff(l, got) != "" {
			t.Errorf("%s: %v\n%s", c, err, cmp.Diff(l, got))
		}
		again, err := Find(pid, c, filepath.Base(place.Dir))
		if err != nil || again.Dir != place.Dir {
			t.Errorf("%s: a second limit would be in %+v, %v, not in %s", c, again, err, place.Dir)
		}
		if in, err := Holds(place.Dir, pid); !in {
			t.Errorf("%s: the process is not in its group, %v", c, err)
		}
		for range 2 {
			if err := Take(place.Dir, place.Back); err != nil {
				t.Errorf("%s: %v", c, err)
			}
		}
		if _, err := os.Stat(place.Dir); err == nil {
			t.Errorf("%s is still there", place.Dir)
		}
		if back, err := Holds(place.Back, pid); !back {
			t.Errorf("%s: the process is not back in %s, %v", c, place.Back, err)
		}
	}
}

func TestOpenFiles(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	pid := cmd.Process.Pid
	before, err := OpenFiles(pid)
	if err != nil {
		t.Fatal(err)
	}
	if before.Open < 3 || before.Free(0) < 3 || before.Free(4) < before.Free(0)+4 {
		t.Errorf("sleep has %d open, free from %d and %d", before.Open, before.Free(0), before.Free(4))
	}
	for _, soft := range []uint64{3, before.Soft} {
		if err := SetSoftFiles(pid, soft); err != nil {
			t.Fatal(err)
		}
		if now, err := OpenFiles(pid); now.Soft != soft || now.Hard != before.Hard || err != nil {
			t.Errorf("soft %d, hard %d, %v; want %d and %d", now.Soft, now.Hard, err, soft, before.Hard)
		}
	}
	if n, err := CountTasks(pid); n != 1 || err != nil {
		t.Errorf("%d threads, %v", n, err)
	}
}

func fake(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
