package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
	"github.com/robustmq/rmq-mcp/internal/testing/enginetest"
)

const bound = time.Minute

// TestEngine is everything on one engine: starting one takes longer than the
// rest.
func TestEngine(t *testing.T) {
	_, e := enginetest.Open(t)
	image, err := e.ImportSelf(t.Context(), build(t))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(*testing.T, *docker.Engine, docker.Image){
		"states": states, "log": log, "network": network, "only of the run": onlyOfTheRun, "pull": pull, "import again": importAgain,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, e, image) })
	}
}

func states(t *testing.T, e *docker.Engine, image docker.Image) {
	c := started(t, e, image, "states")
	expect := func(what string, err error, ok func(docker.State) bool) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if s, err := c.State(t.Context()); err != nil || !ok(s) {
			t.Fatalf("after %s: %+v, %v", what, s, err)
		}
	}
	expect("start", nil, func(s docker.State) bool { return s.Running && !s.Paused })
	expect("pause", c.Pause(t.Context()), func(s docker.State) bool { return s.Running && s.Paused })
	expect("unpause", c.Unpause(t.Context()), func(s docker.State) bool { return s.Running && !s.Paused })
	expect("pause", c.Pause(t.Context()), func(s docker.State) bool { return s.Paused })
	expect("kill", c.Signal(t.Context(), "SIGKILL"), func(docker.State) bool { return true })
	expect("end", c.Wait(t.Context()), func(s docker.State) bool { return !s.Running && s.Exit == 137 })
	expect("start", c.Start(t.Context()), func(s docker.State) bool { return s.Running && !s.Paused })
	expect("remove", c.Remove(t.Context()), func(s docker.State) bool { return s.Removed })
	expect("remove again", c.Remove(t.Context()), func(s docker.State) bool { return s.Removed })
}

func log(t *testing.T, e *docker.Engine, image docker.Image) {
	c := started(t, e, image, "log")
	var out buffer
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- c.Follow(ctx, time.Time{}, &out) }()
	until(t, "three lines", func() bool { return strings.Contains(out.String(), "line 0\nline 1\nline 2\n") })
	if err := c.Signal(t.Context(), "SIGKILL"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A network is handed over, given an address from here, and outlives the kill
// of the container that lives in it.
func network(t *testing.T, e *docker.Engine, image docker.Image) {
	n, err := e.Hold(t.Context(), docker.HoldOptions{
		Name: "network-net", Run: "network", Node: "node-1", Image: image, Self: []string{"hold"},
		Dir: filepath.Join(t.TempDir(), strings.Repeat("long", 30)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	c := create(t, e, docker.Spec{Name: "network", Run: "network", Node: "node-1", Image: image.ID, Entrypoint: []string{docker.SelfPath, "lines"}, Network: n.Join()})
	for range 2 {
		if err := c.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := interfaces(t, n.NS()); got != "lo" {
			t.Errorf("the network has %s, expected lo alone", got)
		}
		if err := errors.Join(c.Signal(t.Context(), "SIGKILL"), c.Wait(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
}

func onlyOfTheRun(t *testing.T, e *docker.Engine, image docker.Image) {
	mine, frozen := started(t, e, image, "run-1"), started(t, e, image, "run-1")
	other := started(t, e, image, "run-11")
	if err := frozen.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.RemoveRun(t.Context(), ""); err == nil {
		t.Error("removed the containers of no run")
	}
	if n, err := e.RemoveRun(t.Context(), "run-1"); n != 2 || err != nil {
		t.Errorf("removed %d containers, %v; expected 2", n, err)
	}
	if n, err := e.RemoveRun(t.Context(), "run-1"); n != 0 || err != nil {
		t.Errorf("removed %d containers the second time, %v", n, err)
	}
	for _, c := range []*docker.Container{mine, frozen} {
		if s, err := c.State(t.Context()); err != nil || !s.Removed {
			t.Errorf("%s is still there: %+v, %v", c.Name(), s, err)
		}
	}
	if s, err := other.State(t.Context()); err != nil || !s.Running {
		t.Errorf("another run's container: %+v, %v", s, err)
	}
}

// The registry is one of this machine at which nobody listens.
func pull(t *testing.T, e *docker.Engine, _ docker.Image) {
	var said []string
	_, err := e.Image(t.Context(), "127.0.0.1:9/robustmq:v0.0.0", func(line string) { said = append(said, line) })
	if err == nil || !strings.Contains(err.Error(), "could not pull it") || !strings.Contains(err.Error(), "docker load") {
		t.Errorf("error %v", err)
	}
	if len(said) != 1 {
		t.Errorf("said %q", said)
	}
}

func importAgain(t *testing.T, e *docker.Engine, image docker.Image) {
	again, err := e.Image(t.Context(), image.Ref, func(string) { t.Error("pulled it") })
	if err != nil || again.ID != image.ID {
		t.Errorf("%+v, %v; expected %+v", again, err, image)
	}
	if _, err := e.ImportSelf(t.Context(), "/bin/sh"); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "CGO_ENABLED=0") {
		t.Errorf("of a program with libraries: %v", err)
	}
	var bad bytes.Buffer
	tar.NewWriter(&bad).WriteHeader(&tar.Header{Name: "x", Size: 10}) // and nothing follows
	if err := e.Import(t.Context(), "torn:1", &bad); err == nil {
		t.Error("imported half an archive")
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, host := range []string{"tcp://127.0.0.1:2375", "ssh://somewhere", "unix:///nowhere/docker.sock"} {
		_, err := docker.Open(t.Context(), host)
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), host) || !strings.Contains(err.Error(), "DOCKER_HOST") {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func create(t *testing.T, e *docker.Engine, s docker.Spec) *docker.Container {
	t.Helper()
	c, err := e.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Remove(context.Background()) })
	return c
}

func started(t *testing.T, e *docker.Engine, image docker.Image, run string) *docker.Container {
	t.Helper()
	c := create(t, e, docker.Spec{
		Name: fmt.Sprintf("%s-%d", run, time.Now().UnixNano()), Run: run, Node: "node-1", Image: image.ID,
		Entrypoint: []string{docker.SelfPath, "lines"}, Network: docker.NetworkNone,
	})
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// interfaces are the names in the namespace, as a program in it sees them.
func interfaces(t *testing.T, ns *os.File) string {
	t.Helper()
	cmd := exec.Command("nsenter", "--net=/proc/self/fd/3", "ls", "/proc/self/net/dev_snmp6")
	cmd.ExtraFiles = []*os.File{ns}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("look into the namespace: %v\n%s", err, out)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

func build(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-o", binary, "./testdata/program")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %s after %v", what, bound)
		}
	}
}

// A buffer is written and read at the same time.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
