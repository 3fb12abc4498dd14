// Package enginetest starts a docker engine for tests: a real dockerd with
// directories of its own, in namespaces that end with it.
package enginetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// Bounds on what takes a second on an idle machine.
const (
	startBound = 60 * time.Second
	stopBound  = time.Minute
)

// Open starts an engine that ends with the test, and answers its address too. It
// skips where this machine lacks something to run one.
func Open(t testing.TB) (host string, engine *docker.Engine) {
	t.Helper()
	if what := missing(); what != "" {
		hosttest.Skip(t, what)
	}
	host, stop, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	engine, err = docker.Open(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return host, engine
}

// missing says what this machine lacks to run one; "" is nothing.
func missing() string {
	if os.Geteuid() != 0 {
		return "dockerd needs root"
	}
	for _, name := range []string{"dockerd", "containerd", "runc"} {
		if _, err := exec.LookPath(name); err != nil {
			return "no " + name + " here; install Debian's docker.io"
		}
	}
	return ""
}

// start starts a dockerd and answers its address once it answers. Stop ends it
// and everything that runs in it, and removes what it kept; a panic of the
// caller's process does the former.
func start() (host string, stop func() error, err error) {
	dir, err := os.MkdirTemp("", "rmq-dockerd-") // the path of its sockets must be short
	if err != nil {
		return "", nil, err
	}
	d := &daemon{dir: dir, cgroup: filepath.Base(dir), end: make(chan struct{}), gone: make(chan error, 1)}
	host = "unix://" + filepath.Join(dir, "docker.sock")
	if err := d.start(host); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := d.await(host); err != nil {
		return "", nil, errors.Join(err, d.stop())
	}
	return host, d.stop, nil
}

type daemon struct {
	dir    string
	cgroup string
	cmd    *exec.Cmd
	end    chan struct{}
	gone   chan error
}

func (d *daemon) start(host string) error {
	// Mounts and processes of its own: what it leaves behind goes with it.
	script := `mount --make-rprivate / && mount -t proc proc /proc && exec dockerd "$@"`
	d.cmd = exec.Command("sh", "-c", script, "dockerd",
		"--host", host, "--config-file", filepath.Join(d.dir, "config.json"), "--pidfile", filepath.Join(d.dir, "pid"),
		"--data-root", filepath.Join(d.dir, "data"), "--exec-root", filepath.Join(d.dir, "exec"),
		"--cgroup-parent", "/"+d.cgroup, "--shutdown-timeout", "1",
		"--bridge", "none", "--iptables=false", "--ip6tables=false")
	if err := os.WriteFile(filepath.Join(d.dir, "config.json"), []byte("{}"), 0o644); err != nil {
		return err
	}
	log, err := os.Create(d.log())
	if err != nil {
		return err
	}
	defer log.Close()
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // it dies with this thread, which stays until then
		defer runtime.UnlockOSThread()
		started <- d.cmd.Start()
		<-d.end
	}()
	if err := <-started; err != nil {
		close(d.end)
		return fmt.Errorf("start dockerd: %w", err)
	}
	go func() { d.gone <- d.cmd.Wait() }()
	return nil
}

func (d *daemon) log() string { return filepath.Join(d.dir, "log") }

func (d *daemon) await(host string) error {
	for deadline := time.Now().Add(startBound); ; {
		engine, err := docker.Open(context.Background(), host)
		if err == nil {
			return engine.Close()
		}
		select {
		case ended := <-d.gone:
			d.gone <- ended
			return fmt.Errorf("dockerd ended (%v); its log ends:\n%s", ended, d.tail())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("dockerd does not answer after %v; its log ends:\n%s", startBound, d.tail())
		}
	}
}

func (d *daemon) tail() string {
	text, _ := os.ReadFile(d.log())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

func (d *daemon) stop() error {
	d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.gone:
	case <-time.After(stopBound):
		d.cmd.Process.Kill() // process 1 of its namespace: all others go too
		<-d.gone
	}
	close(d.end)
	return errors.Join(d.removeGroups(), os.RemoveAll(d.dir))
}

// removeGroups removes the control groups that dockerd made, which it leaves
// behind: they are empty by now, and the kernel removes no others.
func (d *daemon) removeGroups() error {
	tops, err := filepath.Glob("/sys/fs/cgroup/*/" + d.cgroup)
	if err != nil {
		return err
	}
	for _, top := range append(tops, "/sys/fs/cgroup/"+d.cgroup) {
		below, _ := filepath.Glob(top + "/*/")
		for _, group := range append(below, top) {
			for deadline := time.Now().Add(stopBound); ; time.Sleep(10 * time.Millisecond) {
				err := syscall.Rmdir(group)
				if err == nil || errors.Is(err, syscall.ENOENT) {
					break
				}
				if time.Now().After(deadline) {
					return fmt.Errorf("remove control group %s: %w", group, err)
				}
			}
		}
	}
	return nil
}
