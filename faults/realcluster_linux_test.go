package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A realCluster is three echo processes, a witness, and an engine.
type realCluster struct {
	*Engine
	nodes   []*realNode
	witness *realNode
	journal *rig
}

// realClusters counts them: each has addresses of its own.
var realClusters atomic.Int32

func startReal(t *testing.T, stubborn bool) *realCluster {
	t.Helper()
	return startRealNodes(t, stubborn, nil)
}

// startRealNodes starts them; those with a directory write to it.
func startRealNodes(t *testing.T, stubborn bool, writes map[string]string) *realCluster {
	t.Helper()
	c := &realCluster{}
	number := int(realClusters.Add(1))
	for i := range 4 {
		n := &realNode{
			name: fmt.Sprintf("node-%d", i+1), stubborn: stubborn, writes: writes[fmt.Sprintf("node-%d", i+1)],
			// All of 127.0.0.0/8 is this host's, and the port is below the
			// range of outgoing connections: nobody else gets to use it.
			addr: fmt.Sprintf("127.%d.%d.%d:20007", 64+os.Getpid()>>8&63, os.Getpid()&255, 10+number*4%200+i),
		}
		if err := n.Set(t.Context(), Running); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(n.end)
		c.nodes = append(c.nodes, n)
	}
	c.witness, c.nodes = c.nodes[3], c.nodes[:3]
	clock := &rig{started: time.Now()}
	c.journal = clock
	c.Engine = NewEngine(Options{
		Settle:  time.Second,
		Journal: clock, Record: clock.record, Clock: clock, Decide: verdict.DecideLanding,
		Layer: func(name string) (Layer, error) {
			for _, n := range c.nodes {
				for kind, open := range map[string]func(Node) Layer{
					"process": NewProcessLayer, "limits": NewLimitsLayer, "files": NewFilesLayer, "clock": NewClockLayer,
				} {
					if name == kind+"/"+n.name {
						return open(n), nil
					}
				}
			}
			return nil, fmt.Errorf("no layer %q", name)
		},
	})
	return c
}

func (c *realCluster) on(numbers ...int) Target {
	var t Target
	for i, n := range c.nodes {
		if slices.Contains(numbers, i+1) {
			t.Nodes = append(t.Nodes, n)
		} else {
			t.Control = append(t.Control, n)
		}
	}
	t.Control = append(t.Control, c.witness)
	return t
}

func (c *realCluster) pids() (out []int) {
	for _, n := range c.nodes {
		n.mu.Lock()
		out = append(out, n.cmd.Process.Pid)
		n.mu.Unlock()
	}
	return out
}

// A realNode is one process. The runtime signals its children by pidfd.
type realNode struct {
	watched    atomic.Bool // it is started again when it ends
	name, addr string
	stubborn   bool
	writes     string     // directory that it writes to all the time; "" for none
	clock      *testClock // of a node in Python

	mu   sync.Mutex
	cmd  *exec.Cmd
	in   io.Closer
	gone chan struct{}
}

func (n *realNode) Name() string { return n.name }

func (n *realNode) Probe(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", n.addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	if _, err := conn.Write([]byte{1}); err != nil {
		return 0, err
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return time.Since(start), err
}

func (n *realNode) State(context.Context) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state()
}

func (n *realNode) state() (string, error) {
	select {
	case <-n.gone:
		ws := n.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if ws.Signaled() {
			return fmt.Sprintf("exited: signal %d (%s)", ws.Signal(), ws.Signal()), nil
		}
		return fmt.Sprintf("exited: status %d", ws.ExitStatus()), nil
	default:
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
	_, after, _ := bytes.Cut(stat, []byte(") "))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) || bytes.HasPrefix(after, []byte("Z")):
		<-n.gone // it ended, and is waited for
		return n.state()
	case err != nil:
		return "", err
	case bytes.HasPrefix(after, []byte("T")):
		return Frozen, nil
	}
	return Running, nil
}

func (n *realNode) Set(ctx context.Context, want ProcessState) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch want {
	case Running:
		return n.run(ctx)
	case Frozen:
		return errors.Join(n.cmd.Process.Signal(syscall.SIGSTOP), n.await(ctx, Frozen))
	case Killed:
		return errors.Join(n.cmd.Process.Signal(syscall.SIGKILL), n.await(ctx, "exited"))
	}
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	patience := time.Minute
	if n.stubborn {
		patience = 200 * time.Millisecond
	}
	select {
	case <-n.gone:
		return nil
	case <-time.After(patience):
		return errors.Join(errors.New("it had to be killed"), n.cmd.Process.Kill(), n.await(ctx, "exited"))
	}
}

// run starts or thaws the process and waits until it serves.
func (n *realNode) run(ctx context.Context) error {
	if n.cmd == nil || n.exited() {
		if err := n.start(); err != nil {
			return err
		}
	} else if err := n.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	for {
		_, err := n.Probe(ctx)
		if err == nil {
			n.clock.forget(n.cmd.Process.Pid)
			return nil
		}
		select {
		case <-n.gone:
			return errors.New("it ended before it served")
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (n *realNode) start() error {
	n.cmd = n.clock.command(n.addr)
	n.cmd.Env = append(n.cmd.Environ(), "FAULTS_TEST_ECHO="+n.addr)
	if n.stubborn {
		n.cmd.Env = append(n.cmd.Env, "FAULTS_TEST_STUBBORN=1")
	}
	if n.writes != "" {
		n.cmd.Env = append(n.cmd.Env, "FAULTS_TEST_WRITES="+n.writes)
	}
	in, err := n.cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd, gone := n.cmd, make(chan struct{})
	n.in, n.gone = in, gone
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		cmd.Wait()
		close(gone)
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.watched.Load() {
			n.start()
		}
	}()
	return nil
}

func (n *realNode) exited() bool {
	select {
	case <-n.gone:
		return true
	default:
		return false
	}
}

// await waits until the state begins with prefix.
func (n *realNode) await(ctx context.Context, prefix string) error {
	for {
		state, err := n.state()
		if err == nil && strings.HasPrefix(state, prefix) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is %s: %w", n.name, state, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}

func (n *realNode) end() {
	n.watched.Store(false)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cmd.Process.Kill()
	n.in.Close()
	<-n.gone
}
