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
[  300.500000] Out of memory: Killed process 45 (a-name-that-is-) total-vm:1kB
[900100.500000] Out of memory: Killed process 46 (late) total-vm:1kB
`
	for _, test := range []struct {
		who  victim
		want bool
	}{
		{victim{42, "broker", 50, 101}, true},
		{victim{42, "broker", 150, 201}, false},
		{victim{43, "broker", 50, 201}, true},
		{victim{4, "broker", 0, 101}, false},
		{victim{44, "broker", 0, 101}, false},
		// Its number is another in the log.
		{victim{0, "broker", 50, 101}, true},
		{victim{0, "broker", 50, 130}, true},
		{victim{0, "broker", 50, 500}, false},
		{victim{0, "broker", 250, 260}, false},
		// Ten days later the clocks are apart.
		{victim{0, "late", 50, 900_200}, true},
		{victim{0, "late", 50, 900_300}, false},
		{victim{46, "late", 50, 900_000}, true},
		{victim{46, "late", 900_130, 900_200}, true},
		{victim{0, "late", 900_130, 900_200}, true},
		{victim{0, "brok", 50, 101}, false},
		{victim{0, "a-name-that-is-cut-off", 50, 301}, true},
	} {
		if got := killedForMemory(log, test.who); got != test.want {
			t.Errorf("%+v: %t", test.who, got)
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
