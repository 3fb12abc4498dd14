package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	ossignal "os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/hosttest"
	"github.com/robustmq/rmq-mcp/internal/verdict"
)

// TestMain is also the nodes of the tests with real processes: the test binary
// executes itself.
func TestMain(m *testing.M) {
	if addr := os.Getenv("FAULTS_TEST_ECHO"); addr != "" {
		echo(addr, os.Getenv("FAULTS_TEST_STUBBORN") != "")
	}
	os.Exit(hosttest.Alone(m))
}

// Real processes, real signals, real connections.
func TestRealProcesses(t *testing.T) {
	tests := []struct {
		fault    string
		on       []int
		stubborn bool // ignores SIGTERM
		want     history.LandingState
		restarts bool
	}{
		{fault: "kill", on: []int{2}, want: history.Landed, restarts: true},
		{fault: "kill", on: []int{1, 2, 3}, want: history.Landed, restarts: true},
		{fault: "stop", on: []int{2}, want: history.Landed, restarts: true},
		{fault: "stop", on: []int{2}, stubborn: true, want: history.NotLanded, restarts: true},
		{fault: "pause", on: []int{2}, want: history.Landed},
	}
	for i, test := range tests {
		t.Run(fmt.Sprintf("%s %v stubborn=%t", test.fault, test.on, test.stubborn), func(t *testing.T) {
			t.Parallel()
			c := startReal(t, i, test.stubborn)
			before := c.pids()
			l, err := c.Inject(t.Context(), request(t, test.fault, 0.5), c.on(test.on...))
			if err != nil {
				t.Fatal(err)
			}
			if l, err = c.Wait(t.Context(), l.Fault); err != nil {
				t.Fatal(err)
			}
			if l.State != test.want || l.Healed != history.HealVerified {
				t.Errorf("%s %q, healed %s, want %s\n%s", l.State, l.Reasons, l.Healed, test.want, encode(l.Proofs))
			}
			for i, pid := range c.pids() {
				hit := test.restarts && slices.Contains(test.on, i+1)
				if (pid != before[i]) != hit {
					t.Errorf("node-%d: process %d before, %d after", i+1, before[i], pid)
				}
			}
		})
	}
}

// A pause on which a kill falls, healed in both orders.
func TestRealOverlap(t *testing.T) {
	for i, first := range []string{"pause", "kill"} {
		t.Run(first+" is healed first", func(t *testing.T) {
			t.Parallel()
			c := startReal(t, 100+i, false)
			by := map[string]string{}
			for _, typ := range []string{"pause", "kill"} {
				l, err := c.Inject(t.Context(), request(t, typ, 60), c.on(1))
				if err != nil {
					t.Fatal(err)
				}
				by[typ] = l.Fault
			}
			if _, err := c.Heal(t.Context(), by[first]); err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"pause": "exited: signal 9 (killed)", "kill": Frozen}[first]
			if got, err := c.nodes[0].State(t.Context()); got != want || err != nil {
				t.Errorf("after the first heal node-1 is %q, %v; want %q", got, err, want)
			}
			if err := c.HealAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, l := range c.Landings() {
				if l.Healed != history.HealVerified {
					t.Errorf("%s: healed %s %q", l.Fault, l.Healed, l.Reasons)
				}
			}
		})
	}
}

// A realCluster is three echo processes, a witness, and an engine.
type realCluster struct {
	*Engine
	nodes   []*realNode
	witness *realNode
}

func startReal(t *testing.T, number int, stubborn bool) *realCluster {
	t.Helper()
	c := &realCluster{}
	for i := range 4 {
		n := &realNode{
			name: fmt.Sprintf("node-%d", i+1), stubborn: stubborn,
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
	c.Engine = NewEngine(Options{
		Settle:  time.Second,
		Journal: clock, Record: clock.record, Clock: clock, Decide: verdict.DecideLanding,
		Layer: func(name string) (Layer, error) {
			for _, n := range c.nodes {
				if name == "process/"+n.name {
					return NewProcessLayer(n), nil
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
		out = append(out, n.cmd.Process.Pid)
	}
	return out
}

// A realNode is one process. The runtime signals its children by pidfd.
type realNode struct {
	name, addr string
	stubborn   bool

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
	conn.SetDeadline(start.Add(2 * time.Second))
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
	if err != nil {
		return "", err
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	if after[0] == 'T' {
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
	n.cmd = exec.Command(os.Args[0])
	n.cmd.Env = append(os.Environ(), "FAULTS_TEST_ECHO="+n.addr)
	if n.stubborn {
		n.cmd.Env = append(n.cmd.Env, "FAULTS_TEST_STUBBORN=1")
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
	n.cmd.Process.Kill()
	n.in.Close()
	<-n.gone
}

// echo answers every byte of every connection, until its input ends.
func echo(addr string, stubborn bool) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ask := make(chan os.Signal, 1)
	ossignal.Notify(ask, syscall.SIGTERM)
	go func() {
		<-ask
		if !stubborn {
			os.Exit(0)
		}
	}()
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for {
		conn, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		go func() {
			defer conn.Close()
			io.Copy(conn, conn)
		}()
	}
}
