package keeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v3/process"
	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// leftBound is how long anything of an experiment may outlive its keeper.
const leftBound = hosttest.Bound

// TestKill kills parts of an experiment at random moments of its life: nothing
// of it may be left.
func TestKill(t *testing.T) {
	for _, isolation := range []string{"", IsolationHost, IsolationLoopback} {
		for _, roles := range [][]string{{"keeper"}, {"guard"}, {"guard", "keeper"}} {
			t.Run(fmt.Sprint(isolation, roles), func(t *testing.T) {
				for range 3 {
					killRandomly(t, isolation, roles)
				}
			})
		}
	}
}

func killRandomly(t *testing.T, isolation string, roles []string) {
	t.Helper()
	dir := stateDir(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spawned := make(chan error, 1)
	go func() {
		c, err := Spawn(context.Background(), SpawnOptions{
			StateDir: dir, Self: []string{exe}, Isolation: isolation, Start: Start{Scenario: killedAtRandom},
		})
		if err == nil {
			c.Close()
		}
		spawned <- err
	}()
	var id string
	eventually(t, hosttest.Bound, "a "+roles[0], func() bool {
		runs, _ := filepath.Glob(filepath.Join(dir, "runs", "*"))
		if len(runs) == 1 {
			id = filepath.Base(runs[0])
		}
		return id != "" && len(processesOf(id, roles...)) > 0
	})
	time.Sleep(rand.N(150 * time.Millisecond)) // the random moment; nothing waits for it
	killAll(t, processesOf(id, roles...))
	// The first thing that anybody does on a host with such a history.
	eventually(t, leftBound, "no process of "+id, func() bool {
		if _, err := HealDead(dir, noteRecovery); err != nil {
			t.Fatal(err)
		}
		return len(processesOf(id)) == 0
	})
	<-spawned
	eventually(t, leftBound, "healed", func() bool {
		HealDead(dir, noteRecovery)
		files, err := os.ReadDir(filepath.Join(dir, "live"))
		return err == nil && len(files) == 0
	})
	if live, err := List(dir); err != nil || len(live) > 0 {
		t.Errorf("List = %v, %v, want nothing", live, err)
	}
}

// TestKillWithoutHeal is the promise: where there are namespaces nobody needs
// to heal, and nowhere when the guard lives.
func TestKillWithoutHeal(t *testing.T) {
	for _, c := range []struct{ isolation, roles string }{
		{IsolationNamespaces, "keeper"},
		{IsolationNamespaces, "guard"},
		{IsolationNamespaces, "guard keeper"},
		{IsolationHost, "keeper"},
		{IsolationLoopback, "keeper"},
	} {
		t.Run(c.isolation+" "+c.roles, func(t *testing.T) {
			dir := stateDir(t)
			o := SpawnOptions{StateDir: dir, Isolation: c.isolation}
			if c.isolation == IsolationNamespaces {
				o.Isolation = "" // and see
			}
			client := spawn(t, o)
			if c.isolation == IsolationNamespaces {
				needNamespaces(t, client)
			}
			id := client.Info().ID
			if n := len(processesOf(id)); n != 4 {
				t.Fatalf("%d processes, want guard, keeper and two children", n)
			}
			killAll(t, processesOf(id, strings.Fields(c.roles)...))
			eventually(t, leftBound, "no process of "+id, func() bool { return len(processesOf(id)) == 0 })
			<-client.Gone()
			eventually(t, leftBound, "not listed", func() bool {
				live, err := List(dir)
				return err == nil && len(live) == 0
			})
			eventually(t, leftBound, "healed", func() bool { // its guard's lock goes last
				_, err := HealDead(dir, noteRecovery)
				files, unread := os.ReadDir(filepath.Join(dir, "live"))
				return err == nil && unread == nil && len(files) == 0
			})
		})
	}
}

// TestAnnounced: what was announced ends, what has its pid since does not.
func TestAnnounced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.children")
	announce := announcer(path)
	var children []*exec.Cmd
	for range 2 {
		cmd := exec.Command("/proc/self/exe", "child", "stay", "nobody")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		children = append(children, cmd)
	}
	if err := announce(children[0].Process.Pid); err != nil {
		t.Fatal(err)
	}
	earlier := fmt.Sprintf(`{"pid":%d,"start":1,"boot":%q}`+"\n{", children[1].Process.Pid, bootID())
	noted, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(noted, earlier...), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing to do
		if err := killAnnounced(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := children[0].Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("the announced child ended with %v, want signal: killed", err)
	}
	if other, err := identify(children[1].Process.Pid); err != nil || !other.alive() {
		t.Errorf("the other child: %v, %v, want it alive", other, err)
	}
}

// TestSilentKeeper stops a keeper: its guard kills it.
func TestSilentKeeper(t *testing.T) {
	t.Parallel()
	dir := stateDir(t)
	c := spawn(t, SpawnOptions{StateDir: dir})
	id := c.Info().ID
	if err := unix.Kill(c.Info().Keeper.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, hosttest.Bound, "no process of "+id, func() bool { return len(processesOf(id)) == 0 })
	nothingLeft(t, dir)
	if err := c.Watch(t.Context(), func(Progress) {}); !errors.Is(err, ErrGone) {
		t.Errorf("Watch = %v, want ErrGone", err)
	}
}

// TestWorking: a keeper that is late on a starved host works, one that is stopped
// does not.
func TestWorking(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	works := working(cmd.Process.Pid)
	eventually(t, leftBound, "it works", works)
	if err := freeze(cmd.Process); err != nil {
		t.Fatal(err)
	}
	p, err := process.NewProcess(int32(cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, leftBound, "it is stopped", func() bool {
		state, err := p.Status()
		return err == nil && slices.Contains(state, process.Stop)
	})
	works() // up to there
	if works() {
		t.Error("a stopped process works")
	}
}

// TestOrphans: process 1 reaps what others left behind, and steals no exit
// status.
func TestOrphans(t *testing.T) {
	t.Parallel()
	c := spawn(t, SpawnOptions{StateDir: stateDir(t)})
	needNamespaces(t, c)
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Bound)
	defer cancel()
	lines, err := c.Logs(ctx, Logs{})
	if err != nil {
		t.Fatal(err)
	}
	if got := lines.Lines[0].Text; got != "exit status 7" {
		t.Errorf("a child that nobody had waited for: %s, want exit status 7", got)
	}
}

// reaped waits until a process is not even a zombie.
func reaped(ctx context.Context, pid string) error {
	for {
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, os.ErrNotExist) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %s: %w", pid, ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// TestAsUser runs the tests of this file again as nobody, who is root in a
// user namespace only.
func TestAsUser(t *testing.T) {
	hosttest.Long(t, "it waits for a keeper to be missed")
	if os.Getuid() != 0 {
		t.Skip("the other tests already are an ordinary user's")
	}
	t.Parallel()
	dir := stateDir(t)
	exe := filepath.Join(dir, "keeper.test")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// By another process: a child that a test beside this one forks meanwhile would
	// have the file open for writing too, and then it cannot be executed (golang/go#22315).
	if out, err := exec.Command("cp", self, exe).CombinedOutput(); err != nil {
		t.Fatalf("copy the test binary: %v: %s", err, out)
	}
	if err := errors.Join(os.Chmod(exe, 0o755), os.Chown(dir, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^(TestExperiment|TestKill|TestKillWithoutHeal|TestSilentKeeper|TestCallerKilled|TestOrphans)$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("as nobody: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		hosttest.Skip(t, string(out))
	}
}

func needNamespaces(t *testing.T, c *Client) {
	t.Helper()
	if c.Info().Isolation != IsolationNamespaces {
		hosttest.Skip(t, "this host allows no namespaces: "+tail(filepath.Join(c.Info().Dir, "keeper.log"), 10))
	}
}

// processesOf are the processes of an experiment, those in certain roles or
// all. Zombies have no command line.
func processesOf(id string, roles ...string) []Process {
	var found []Process
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		text, _ := os.ReadFile(path)
		argv := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
		if len(argv) < 3 || argv[len(argv)-1] != id || len(roles) > 0 && !slices.Contains(roles, argv[1]) {
			continue
		}
		var pid int
		fmt.Sscanf(path, "/proc/%d/", &pid)
		if p, err := identify(pid); err == nil {
			found = append(found, p)
		}
	}
	return found
}

func killAll(t *testing.T, all []Process) {
	t.Helper()
	for _, p := range all {
		if err := p.kill(); err != nil {
			t.Fatal(err)
		}
	}
}
