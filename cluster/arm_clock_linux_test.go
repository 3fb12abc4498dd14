package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/clock"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// The times in mosquitto's log follow the control file, also after it was killed
// and started again. Until the clock is moved, they are our time.
func TestClockOfMosquitto(t *testing.T) {
	config := Config{Flavor: "mosquitto", Arm: []string{ArmClock}}
	if _, _, err := check(config); err != nil {
		hosttest.Skip(t, err.Error())
	}
	if _, err := clock.Library(); err != nil {
		hosttest.Skip(t, err.Error())
	}
	before := sharedMemory(t)
	ctx, c := startCluster(t, config)
	followsTheControl(t, ctx, c.Nodes()[0])
	c.Kill()
	if left := slices.DeleteFunc(sharedMemory(t), func(name string) bool { return slices.Contains(before, name) }); len(left) > 0 {
		t.Errorf("in /dev/shm is left %q", left)
	}
}

func TestClockOfRobustMQ(t *testing.T) {
	if os.Getenv(robustmqEnv) == "" {
		t.Skipf("%s is not set", robustmqEnv)
	}
	ctx, cancel := context.WithTimeout(t.Context(), robustmqBound)
	defer cancel()
	c, err := Start(ctx, optionsFor(t, Config{Flavor: "robustmq", Nodes: 1, Arm: []string{ArmClock}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	followsTheControl(t, ctx, c.Nodes()[0])
}

func followsTheControl(t *testing.T, ctx context.Context, n *Node) {
	t.Helper()
	control, library, err := n.Clock()
	if err != nil {
		t.Fatal(err)
	}
	if loaded, err := clock.Loaded(n.PID(), library); !loaded {
		t.Errorf("the library is not loaded, %v", err)
	}
	wantOff(t, ctx, n, 0)
	for _, off := range []time.Duration{time.Hour, -time.Hour, 5 * time.Second} {
		if err := clock.Set(control, off); err != nil {
			t.Fatal(err)
		}
		wantOff(t, ctx, n, off)
	}
	set(t, ctx, n, "killed")
	set(t, ctx, n, "running")
	wantOff(t, ctx, n, 5*time.Second)
	if err := clock.Set(control, 0); err != nil {
		t.Fatal(err)
	}
	wantOff(t, ctx, n, 0)
}

func wantOff(t *testing.T, ctx context.Context, n *Node, want time.Duration) {
	t.Helper()
	off, err := n.TimeOff(ctx)
	if err != nil || (off-want).Abs() > time.Second {
		t.Errorf("the time of %s is %v off, %v, want %v", n.Name(), off, err, want)
	}
}

// A broker that looks at the clock itself starts all the same, and says why
// its clock cannot be moved.
func TestClockUnsupported(t *testing.T) {
	_, c := startCluster(t, Config{Flavor: "reference", Nodes: 1, Arm: []string{ArmClock}})
	if _, _, err := c.Nodes()[0].Clock(); !errors.Is(err, ErrUnsupported) && !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "looks at the clock itself") && !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("a Go program: %v", err)
	}
	_, c = startCluster(t, Config{Flavor: "reference", Nodes: 1})
	if _, _, err := c.Nodes()[0].Clock(); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "arm: [clock]") {
		t.Errorf("not armed: %v", err)
	}
}

func TestLastStamp(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-21T05:56:38+0000: New client\n2026-11-21T05:56:39+0000: gone": "2026-11-21T05:56:39.5Z",
		"\x1b[2m2026-11-21T05:56:38.123456Z\x1b[0m INFO broker":                "2026-11-21T05:56:38.123456Z",
		`{"timestamp":"2026-11-21T07:56:38.5+02:00","level":"INFO"}`:           "2026-11-21T05:56:38.5Z",
		"no time": "", "2026-99-21T05:56:38Z": "",
	} {
		at, ok := lastStamp(text)
		if got := at.UTC().Format(time.RFC3339Nano); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %s, %t, want %q", text, got, ok, want)
		}
	}
}

func sharedMemory(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("/dev/shm/*faketime*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}
