package cluster

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestKilledForMemory(t *testing.T) {
	const log = `<6>[   12.500000] something else
<6>[  100.250000] Memory cgroup out of memory: Killed process 42 (broker) total-vm:1kB
[  200.750000] Out of memory: Killed process 43 (broker) total-vm:1kB
`
	for _, test := range []struct {
		pid   int
		since float64
		want  bool
	}{
		{42, 50, true}, {42, 150, false}, {43, 50, true}, {4, 0, false}, {44, 0, false},
	} {
		if got := killedForMemory(log, test.pid, test.since); got != test.want {
			t.Errorf("process %d since %g: %t", test.pid, test.since, got)
		}
	}
}

// How each process of a node ended, and whether we asked for it.
func TestExits(t *testing.T) {
	ctx, c := startCluster(t, Config{Nodes: 1})
	n := c.Nodes()[0]
	watch, stop := context.WithCancel(ctx)
	seen, over := make(chan Exit, 10), make(chan struct{})
	go func() {
		defer close(over)
		n.Exits(watch, func(e Exit) { seen <- e })
	}()
	next := func(state string, asked bool) {
		t.Helper()
		select {
		case e := <-seen:
			if !strings.HasPrefix(e.State, state) || e.Asked != asked || e.OutOfMemory {
				t.Errorf("%+v, want %s, asked %t", e, state, asked)
			}
		case <-time.After(hosttest.Bound):
			t.Fatalf("nobody told of %s", state)
		}
	}
	set(t, ctx, n, history.EndKilled)
	next(history.StateKilled, true)
	set(t, ctx, n, history.StateRunning)
	if err := syscall.Kill(n.PID(), syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	next(history.StateExited, false)
	set(t, ctx, n, history.StateRunning)
	if err := syscall.Kill(n.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	next(history.StateKilled, false)
	set(t, ctx, n, history.StateRunning)
	set(t, ctx, n, history.EndStopped)
	next(history.StateExited, true)
	stop()
	<-over
}
