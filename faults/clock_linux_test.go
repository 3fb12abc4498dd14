package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/clock"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A testClock is the clock of a node in Python, which answers T by its time.
type testClock struct {
	library, control string
	reads            string // the control file that the process really reads
}

const pythonEcho = `
import socket, sys, threading, time
def serve(c):
    while b := c.recv(1):
        c.sendall(b'%.6f\n' % time.time() if b == b'T' else b)
host, port = sys.argv[1].split(':')
s = socket.create_server((host, int(port)))
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
`

func (c *testClock) command(addr string) *exec.Cmd {
	if c == nil {
		return exec.Command(os.Args[0])
	}
	cmd := exec.Command("python3", "-c", pythonEcho, addr)
	cmd.Env = append(os.Environ(), clock.Environment(c.library, c.reads)...)
	return cmd
}

// forget removes what the library leaves behind when a process is killed.
func (c *testClock) forget(pid int) {
	if c != nil {
		clock.Forget(pid)
	}
}

func (n *realNode) Clock() (control, library string, err error) {
	if n.clock == nil {
		return "", "", fmt.Errorf("%w: it was not armed", ErrUnsupported)
	}
	return n.clock.control, n.clock.library, nil
}

func (n *realNode) TimeOff(context.Context) (time.Duration, error) {
	conn, err := net.Dial("tcp", n.addr)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(2 * time.Second))
	conn.Write([]byte("T"))
	var text [64]byte
	size, err := conn.Read(text[:])
	if err != nil {
		return 0, err
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(text[:size])), 64)
	return time.Until(time.UnixMicro(int64(seconds * 1e6))), err
}

// startClocked is a real cluster whose first node has a clock.
func startClocked(t *testing.T) *realCluster {
	t.Helper()
	needs(t, "clock_jump")
	hosttest.Program(t, "python3")
	library, err := clock.Library()
	if err != nil {
		t.Fatal(err)
	}
	c := startReal(t, false)
	n := c.nodes[0]
	n.Set(t.Context(), Killed)
	n.clock = &testClock{library: library, control: filepath.Join(t.TempDir(), "clock")}
	n.clock.reads = n.clock.control
	if err := clock.Set(n.clock.control, 0); err != nil {
		t.Fatal(err)
	}
	if err := n.Set(t.Context(), Running); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRealClocks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		fault   string
		params  map[string]any
		seconds float64
	}{
		{"clock_jump", map[string]any{"offset_s": 3600}, 0.5},
		{"clock_jump", map[string]any{"offset_s": -3600}, 0.5},
		{"clock_rate", map[string]any{"factor": 20}, 1},
		{"clock_rate", map[string]any{"factor": 0.1}, 4},
		{"clock_strobe", map[string]any{"offset_s": -60, "period_ms": 100}, 1},
	} {
		t.Run(fmt.Sprint(test.fault, test.params), func(t *testing.T) {
			t.Parallel()
			c := startClocked(t)
			l, err := c.Inject(t.Context(), resource(t, test.fault, test.params, test.seconds), c.target(1))
			if err != nil {
				t.Fatal(err)
			}
			if l, err = c.Wait(t.Context(), l.Fault); err != nil {
				t.Fatal(err)
			}
			if l.State != history.Landed || l.Healed != history.HealVerified {
				t.Errorf("%s %q, healed %s\n%s", l.State, l.Reasons, l.Healed, encode(l.Proofs))
			}
			inTime(t, c.nodes[0], 0)
		})
	}
}

// A control file that says so is no proof: the process must believe it.
func TestRealClockNotBelieved(t *testing.T) {
	hosttest.Long(t, "proofs wait for a time that does not come")
	t.Parallel()
	for _, typ := range []string{"clock_jump", "clock_rate", "clock_strobe"} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			c := startClocked(t)
			c.nodes[0].Set(t.Context(), Killed)
			c.nodes[0].clock.reads += ".other"
			clock.Set(c.nodes[0].clock.reads, 0)
			if err := c.nodes[0].Set(t.Context(), Running); err != nil {
				t.Fatal(err)
			}
			l, err := c.Inject(t.Context(), resource(t, typ, map[string]any{}, 4), c.target(1))
			if err != nil {
				t.Fatal(err)
			}
			if l, err = c.Heal(t.Context(), l.Fault); err != nil || l.State != history.NotLanded {
				t.Errorf("%s %q, %v\n%s", l.State, l.Reasons, err, encode(l.Proofs))
			}
		})
	}
}

// Clocks that are moved twice, by a node that is killed meanwhile.
func TestRealClockOverlap(t *testing.T) {
	t.Parallel()
	c := startClocked(t)
	inject := func(typ string, params map[string]any) history.Landing {
		t.Helper()
		l, err := c.Inject(t.Context(), resource(t, typ, params, 60), c.target(1))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first := inject("clock_jump", map[string]any{"offset_s": 1000})
	second := inject("clock_jump", map[string]any{"offset_s": -5000})
	if first.State != history.Landed || second.State != history.Landed {
		t.Errorf("%s %q, then %s %q", first.State, first.Reasons, second.State, second.Reasons)
	}
	inTime(t, c.nodes[0], -4000*time.Second)
	kill := inject("kill", nil)
	for _, heal := range []struct {
		fault string
		off   time.Duration
	}{{kill.Fault, -4000 * time.Second}, {first.Fault, -5000 * time.Second}, {second.Fault, 0}} {
		if _, err := c.Heal(t.Context(), heal.fault); err != nil {
			t.Fatal(err)
		}
		inTime(t, c.nodes[0], heal.off)
	}
	if err := c.HealAll(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClockRefused(t *testing.T) {
	for _, test := range []struct {
		fault  string
		params map[string]any
		want   string
	}{
		{"clock_jump", map[string]any{"offset_s": 1}, "valid: 3 or more"},
		{"clock_rate", map[string]any{"factor": 1}, "take another factor"},
		{"clock_rate", map[string]any{"factor": 1.1, "duration_s": 10}, "a longer duration"},
		{"clock_strobe", map[string]any{"period_ms": 1}, "valid: a number from 50"},
	} {
		if _, err := Parse(test.fault, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %v: %v, want %q", test.fault, test.params, err, test.want)
		}
	}
	c := startClocked(t)
	for number, why := range map[int]string{1: "does not have", 2: "not armed"} {
		if number == 1 {
			c.nodes[0].Set(t.Context(), Killed)
			c.nodes[0].clock.library = "/bin/true" // which it will not have loaded
			c.nodes[0].Set(t.Context(), Running)
		}
		l, err := c.Inject(t.Context(), resource(t, "clock_jump", nil, 1), c.target(number))
		if !errors.Is(err, ErrUnsupported) || l.State != history.Unsupported || !strings.Contains(err.Error(), why) {
			t.Errorf("node-%d: %s, %v, want %q", number, l.State, err, why)
		}
	}
}

func inTime(t *testing.T, n *realNode, want time.Duration) {
	t.Helper()
	off, err := n.TimeOff(t.Context())
	if err != nil || (off-want).Abs() > time.Second {
		t.Errorf("the time of %s is %v off, %v, want %v", n.name, off, err, want)
	}
}
