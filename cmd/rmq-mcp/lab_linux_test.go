package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A lab is a state directory with a user of its own. Every process started in
// it carries a mark in its environment. The mark identifies it in /proc,
// whoever its parent is and even if that parent is gone.
type lab struct {
	base string // everything below is the user's
	dir  string // the state directory
	mark string
	env  []string            // beside the test's own
	user *syscall.Credential // nil: who runs the tests
	host []string            // what the host had before, as [hostState] lists it
}

const markName = "RMQ_TEST_LAB="

// secretToken is a secret in the environment of the commands that start
// something in a lab.
const secretToken = "planted-in-the-environment"

// newLab makes a lab. A long one has a state directory whose path is too long
// for a socket.
func newLab(t *testing.T, user *syscall.Credential, long bool) *lab {
	t.Helper()
	base, err := os.MkdirTemp("", "rmq-lab-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() || killsPerKind() == defaultRounds {
			os.RemoveAll(base)
		}
	})
	name := "state"
	if long {
		name = strings.Repeat("long", 25)
	}
	l := &lab{base: base, dir: filepath.Join(base, name), mark: markName + filepath.Base(base), user: user}
	for _, dir := range []string{l.base, l.dir, l.temp()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if user != nil {
			if err := os.Chown(dir, int(user.Uid), int(user.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"no-fault.md", "one-node.md", "three-nodes.md", "disk.md"} {
		text, err := os.ReadFile(filepath.Join("testdata/kill", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(l.base, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if l.host, err = l.hostState(); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) temp() string { return filepath.Join(l.base, "tmp") }

// command is the binary in the lab.
func (l *lab) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary(), append([]string{"--dir", l.dir}, args...)...)
	cmd.Dir = l.base
	cmd.Env = append(os.Environ(), l.mark, "TMPDIR="+l.temp(), "HOME="+l.base, "GITHUB_TOKEN="+secretToken, "RMQ_PASSWORD="+secretToken, "NPM_TOKEN="+secretToken)
	cmd.Env = append(cmd.Env, l.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: l.user}
	return cmd
}

// A proc is a process of a lab.
type proc struct {
	pid   int
	role  string // run, serve, guard, keeper, node, driver, witness
	id    string // the last argument: of guard and keeper the run's id
	state string // R, S, T, …
}

func (p proc) String() string { return fmt.Sprintf("%d %s %s (%s)", p.pid, p.role, p.id, p.state) }

// told are the processes of the lab that were given a secret and have no need of it.
func (l *lab) told() (names []string) {
	for _, p := range l.processes() {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		if p.role != "run" && p.role != "serve" && strings.Contains(string(environ), secretToken) {
			names = append(names, p.String())
		}
	}
	return names
}

// run starts a run, whose processes end with the test, and waits until a phase of it has
// begun. printed is all that it has said so far.
func (l *lab) run(t *testing.T, phase string, args ...string) (cmd *exec.Cmd, printed func() string) {
	t.Helper()
	out, err := os.Create(filepath.Join(l.base, "run.out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd = l.command(append([]string{"run", "--no-repeat"}, args...)...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.kill(l.processes()) })
	printed = func() string {
		text, _ := os.ReadFile(out.Name())
		return string(text)
	}
	awaitPhase(t, phase, printed)
	return cmd, printed
}

// awaitPhase waits until a phase of a run has begun.
func awaitPhase(t *testing.T, phase string, printed func() string) {
	t.Helper()
	if err := await(endBound, func() string {
		if !strings.Contains(printed(), " s "+phase+" ") {
			return "phase " + phase + " has not begun: " + printed()
		}
		return ""
	}); err != nil {
		t.Fatal(err)
	}
}

// processes are those of the lab, in these roles or all. The dead are not
// among them, waited for or not.
func (l *lab) processes(roles ...string) []proc {
	var found []proc
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		environ, _ := os.ReadFile(path + "/environ")
		line, _ := os.ReadFile(path + "/cmdline")
		if !slices.Contains(strings.Split(string(environ), "\x00"), l.mark) && !strings.Contains(string(line), l.base+"/") {
			continue
		}
		argv := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		p := proc{state: stateOf(path), role: roleOf(argv), id: argv[len(argv)-1]}
		p.pid, _ = strconv.Atoi(filepath.Base(path))
		dead := p.state == "" || p.state == "Z" || p.state == "X"
		if !dead && (len(roles) == 0 || slices.Contains(roles, p.role)) {
			found = append(found, p)
		}
	}
	return found
}

func roleOf(argv []string) string {
	args := argv[min(1, len(argv)):]
	if len(args) > 2 && args[0] == "--dir" {
		args = args[2:]
	}
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

func stateOf(path string) string {
	text, err := os.ReadFile(path + "/stat")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// kill ends processes of the lab, all at once, and waits until they have let go
// of everything.
func (l *lab) kill(all []proc) {
	for _, p := range all {
		handle, err := os.FindProcess(p.pid) // from here on the pid is no other's
		if err != nil {
			continue // it has ended
		}
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		if strings.Contains(string(environ), l.mark) {
			handle.Signal(syscall.SIGKILL)
		}
		handle.Release()
	}
	for _, p := range all {
		dir := fmt.Sprintf("/proc/%d", p.pid)
		await(leftBound, func() string {
			environ, _ := os.ReadFile(dir + "/environ")
			if state := stateOf(dir); state == "" || state == "Z" || state == "X" || len(environ) > 0 && !strings.Contains(string(environ), l.mark) {
				return "" // gone, or its pid is another's
			}
			return "dying"
		})
	}
}

// stop stops processes of the lab, all at once. They are killed with it at the
// end, or by whoever misses them.
func (l *lab) stop(all []proc) { l.signal(all, syscall.SIGSTOP) }

// signal sends a signal to processes of the lab.
func (l *lab) signal(all []proc, signal syscall.Signal) {
	for _, p := range all {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		if strings.Contains(string(environ), l.mark) {
			syscall.Kill(p.pid, signal)
		}
	}
}

// left says what an experiment left on the host, beside its run directory: what
// remains of it, and control groups.
func (l *lab) left() string {
	return strings.Join(slices.DeleteFunc([]string{l.remains(), strings.Join(l.controlGroups(), ", ")}, func(s string) bool { return s == "" }), ", ")
}

// remains says what the kernel takes away with the keeper and is there:
// processes other than its server, interfaces, mounts, rules of the packet filter.
func (l *lab) remains() string {
	var left []string
	for _, p := range l.processes() {
		if p.role != "run" && p.role != "serve" {
			left = append(left, p.String())
		} else if held := heldNamespaces(p.pid); len(held) > 0 {
			left = append(left, fmt.Sprintf("%s holds %v", p, held))
		}
	}
	now, err := l.hostState()
	if err != nil {
		left = append(left, err.Error())
	}
	for _, name := range now {
		if !slices.Contains(l.host, name) {
			left = append(left, name)
		}
	}
	return strings.Join(left, ", ")
}

// noted says which files tell of a live experiment, or of one that is still to
// be undone.
func (l *lab) noted() string {
	live, _ := filepath.Glob(filepath.Join(l.dir, "live", "*"))
	sockets, _ := filepath.Glob(filepath.Join(l.temp(), "rmq-mcp-*"))
	return strings.Join(slices.Concat(live, sockets), ", ")
}

// hostState lists what an experiment could leave on a host that its processes
// do not take with them. Mounts are the lab's own: others test file systems at
// the same time.
func (l *lab) hostState() ([]string, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list interfaces: %w", err)
	}
	var found []string
	for _, link := range links {
		found = append(found, "interface "+link.Attrs().Name)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	for line := range strings.Lines(string(mounts)) {
		at := strings.Fields(line)[4]
		if strings.Contains(line, " - nsfs ") || strings.HasPrefix(at, l.base+"/") {
			found = append(found, "mount "+at)
		}
	}
	if nft, err := exec.LookPath("nft"); err == nil && os.Getuid() == 0 {
		tables, err := exec.Command(nft, "list", "tables").Output()
		if err != nil {
			return nil, fmt.Errorf("list the tables of the packet filter: %w", err)
		}
		for line := range strings.Lines(string(tables)) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found, nil
}

// controlGroups are those that carry the name of a run of this lab.
func (l *lab) controlGroups() []string {
	var found []string
	runs := l.runs()
	filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		ours := func(id string) bool { return strings.Contains(d.Name(), id) }
		if err == nil && d.IsDir() && slices.ContainsFunc(runs, ours) {
			found = append(found, "control group "+path)
		}
		return nil
	})
	return found
}

// heldNamespaces are the network namespaces of which a process has a file open.
func heldNamespaces(pid int) []string {
	var held []string
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, "net:") {
			held = append(held, to)
		}
	}
	return held
}

// await polls a condition that comes by itself: what answers why it does not
// hold yet.
func await(bound time.Duration, what func() string) error {
	for deadline := time.Now().Add(bound); ; time.Sleep(20 * time.Millisecond) {
		why := what()
		if why == "" {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v: %s", bound, why)
		}
	}
}

// users are those that an experiment is tried as: root and nobody, or who runs
// the tests.
func users(t *testing.T) map[string]*syscall.Credential {
	t.Helper()
	if os.Getuid() != 0 {
		if hosttest.Required() {
			t.Fatal("only root can try this as root and as an ordinary user")
		}
		return map[string]*syscall.Credential{"user": nil}
	}
	return map[string]*syscall.Credential{"root": nil, "user": {Uid: 65534, Gid: 65534}}
}
