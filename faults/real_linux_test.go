package faults

import (
	"fmt"
	"io"
	"net"
	"os"
	ossignal "os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestMain is also the nodes of the tests with real processes: the test binary
// executes itself.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		served(os.Args[1], os.Args[2:])
	}
	if addr := os.Getenv("FAULTS_TEST_ECHO"); addr != "" {
		echo(addr, os.Getenv("FAULTS_TEST_STUBBORN") != "")
	}
	hosttest.Waiting()
	os.Exit(hosttest.Alone(m))
}

// Real processes, real signals, real connections.
func TestRealProcesses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault    string
		on       []int
		stubborn bool // ignores SIGTERM
		watched  bool // something starts it again at once
		want     history.LandingState
		restarts bool
	}{
		{fault: "kill", on: []int{2}, want: history.Landed, restarts: true},
		{fault: "kill", on: []int{1, 2, 3}, want: history.Landed, restarts: true},
		{fault: "stop", on: []int{2}, want: history.Landed, restarts: true},
		{fault: "stop", on: []int{2}, stubborn: true, want: history.NotLanded, restarts: true},
		{fault: "pause", on: []int{2}, want: history.Landed},
		{fault: "kill", on: []int{2}, watched: true, want: history.NotLanded, restarts: true},
		{fault: "kill", on: []int{1, 2, 3}, watched: true, want: history.NotLanded, restarts: true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s %v stubborn=%t", test.fault, test.on, test.stubborn), func(t *testing.T) {
			t.Parallel()
			c := startReal(t, test.stubborn)
			for _, n := range c.nodes {
				n.watched.Store(test.watched)
			}
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
	hosttest.Long(t, "heals wait for each other")
	t.Parallel()
	for _, first := range []string{"pause", "kill"} {
		t.Run(first+" is healed first", func(t *testing.T) {
			t.Parallel()
			c := startReal(t, false)
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
	if dir := os.Getenv("FAULTS_TEST_WRITES"); dir != "" {
		go scribble(dir)
	}
	for {
		conn, err := l.Accept()
		if err != nil { // such as EMFILE
			time.Sleep(5 * time.Millisecond)
			continue
		}
		go func() {
			defer conn.Close()
			for b := make([]byte, 1); ; {
				if _, err := io.ReadFull(conn, b); err != nil {
					return
				}
				obey(b[0])
				conn.Write(b)
			}
		}()
	}
}
