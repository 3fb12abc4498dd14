package disk

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/microvm"
)

// Environment variables for the two boots of a machine.
const (
	groupEnv = "DISK_TEST_OUTAGES" // at-once or waiting
	afterEnv = "DISK_TEST_AFTER"   // the power was gone
)

// TestExt4LosesPower compares the layer's ext4 with the kernel's: each program
// runs on a disk of its own in a machine, the machine is killed, and another
// one mounts the disks and says what is left. A disk has no volatile cache:
// what the kernel wrote to it survives, what it held in memory does not.
func TestExt4LosesPower(t *testing.T) {
	hosttest.Long(t, "it boots kernels")
	if microvm.Inside() {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	kernel, err := microvm.Cached(ctx)
	if err != nil {
		hosttest.Skip(t, err.Error())
	}
	blank := blankDisk(t)
	program := filepath.Join(t.TempDir(), "program")
	if err := microvm.BuildTest(ctx, program); err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"at-once", "waiting"} {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			machine := powerless{t: t, options: microvm.Options{
				Kernel: kernel, Program: program, Modules: []string{"virtio_pci", "virtio_blk", "crc32c_generic", "ext4"},
				Args: []string{"-test.run=^TestInMachine$", "-test.timeout=10m"}, Env: []string{groupEnv + "=" + group},
			}, limit: 4 * time.Second} // before the first commit by time
			if group == "waiting" {
				machine.options.Shift = 4
				machine.limit = 20 * time.Second // before bytes are written by time
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			machine.compare(ctx, inGroup(group), blank)
		})
	}
}

// inGroup is what runs in one machine, which has room for 30 disks.
func inGroup(group string) []outage {
	return slices.DeleteFunc(outages(), func(o outage) bool { return (o.wait == atOnce) != (group == "at-once") })
}

// blankDisk is an image with an ext4 of the defaults.
func blankDisk(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blank")
	mkfs := hosttest.Program(t, "mkfs.ext4")
	if out, err := exec.Command(mkfs, "-q", "-b", "4096", path, "32M").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// powerless is a machine whose power goes.
type powerless struct {
	t       *testing.T
	options microvm.Options
	limit   time.Duration // of its life after the first program that does not wait, or after the waits
}

func (m powerless) compare(ctx context.Context, list []outage, blank string) {
	dir := memory(m.t)
	for i := range list {
		disk := filepath.Join(dir, fmt.Sprintf("%02d", i))
		if out, err := exec.Command("cp", "--sparse=always", blank, disk).CombinedOutput(); err != nil {
			m.t.Fatalf("%v: %s", err, out)
		}
		m.options.Disks = append(m.options.Disks, disk)
	}
	m.run(ctx)
	m.options.Env = append(m.options.Env, afterEnv+"=yes")
	machine, err := microvm.Start(ctx, m.options)
	if err != nil {
		m.t.Fatal(err)
	}
	out, err := machine.Wait()
	if err != nil {
		m.t.Fatalf("%v\n%s", err, out)
	}
	left := map[int]string{}
	for _, line := range regexp.MustCompile(`(?m)^left (\d+) (".*")$`).FindAllStringSubmatch(out, -1) {
		n, _ := strconv.Atoi(line[1])
		left[n], _ = strconv.Unquote(line[2])
	}
	for i, o := range list {
		want := o.want
		if o.why != "" {
			want = o.real
		}
		got, ok := left[i]
		m.t.Log(strings.ReplaceAll(fmt.Sprintf("| %s | %s | `%s` | `%s` | %s |", o.name, o.wait, o.want, got, o.why), "\x00", `\0`))
		if !ok || got != want && (o.early == "" || got != o.early) {
			m.t.Errorf("%s %s: a real ext4 left %q, want %q", o.name, o.wait, got, want)
		}
	}
}

// run runs the programs and takes the power away.
func (m powerless) run(ctx context.Context) {
	machine, err := microvm.Start(ctx, m.options)
	if err != nil {
		m.t.Fatal(err)
	}
	err = machine.Await(ctx, " ms\n")
	if killed := machine.Kill(); err == nil {
		err = killed
	}
	out := machine.Output()
	if err != nil || strings.Contains(out, "FAIL") {
		m.t.Fatalf("%v\n%s", err, out)
	}
	alive := regexp.MustCompile(`(?m)^alive (\d+) ms$`).FindAllStringSubmatch(out, -1)
	if len(alive) == 0 {
		m.t.Fatalf("it said no time\n%s", out)
	}
	last, _ := strconv.Atoi(alive[len(alive)-1][1])
	m.t.Logf("its power went %d ms of its time after the waits", last)
	if d := time.Duration(last) * time.Millisecond; d > m.limit {
		m.t.Fatalf("it lived for %s, longer than %s: a commit by time may have been; run the test on a host with less load", d, m.limit)
	}
}

// TestInMachine is what runs in the machine.
func TestInMachine(t *testing.T) {
	if !microvm.Inside() {
		return
	}
	list := inGroup(os.Getenv(groupEnv))
	for i := range list {
		dir := mountPoint(i)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := mountDisk(i, dir); err != nil {
			t.Fatalf("disk %d: %v", i, err)
		}
	}
	if os.Getenv(afterEnv) != "" {
		for i := range list {
			fmt.Printf("left %d %q\n", i, contents(t, mountPoint(i)))
		}
		return
	}
	for i, o := range list {
		o.base(program{t, mountPoint(i)})
	}
	unix.Sync()
	if began := time.Now(); doAll(t, list, writeback) {
		time.Sleep(time.Until(began.Add(afterWriteback - afterCommit)))
	}
	if err := microvm.StayAwake(); err != nil {
		t.Fatal(err)
	}
	if began := time.Now(); doAll(t, list, commit) {
		spin(began.Add(afterCommit))
	}
	began := time.Now()
	doAll(t, list, atOnce)
	for { // until the power goes
		fmt.Printf("\nalive %d ms\n", time.Since(began).Milliseconds())
		spin(time.Now().Add(50 * time.Millisecond))
	}
}

// doAll runs the programs of a wait, and answers whether there are any.
func doAll(t *testing.T, list []outage, w wait) (some bool) {
	for i, o := range list {
		if o.wait == w {
			o.run(program{t, mountPoint(i)})
			some = true
		}
	}
	return some
}

// mountDisk gives the disk a share of the memory for what is not written yet,
// as one in use has by itself. The kernel may write what one without holds as
// soon as it looks, every 5 s.
func mountDisk(i int, dir string) error {
	name := "vd" + string(rune('a'+i%26))
	if i >= 26 {
		name = "vda" + string(rune('a'+i%26))
	}
	share := filepath.Join("/sys/block", name, "bdi/min_ratio") // percent
	if err := os.WriteFile(share, []byte("3"), 0o600); err != nil {
		return err
	}
	return unix.Mount("/dev/"+name, dir, "ext4", 0, "")
}

func mountPoint(i int) string { return fmt.Sprintf("/disks/%d", i) }

// spin waits at work, not idle.
func spin(until time.Time) {
	for time.Now().Before(until) {
	}
}
