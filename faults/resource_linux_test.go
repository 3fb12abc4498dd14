package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// Orders to a node of these tests: sent one of these bytes, the node acts as
// said here, beside echoing it.
const (
	orderBurn  = 'b' // keep a core busy for 20 s
	orderTake  = 'm' // take 8 MiB of memory and keep them
	orderMap   = 'M' // have the kernel keep more and more mappings, and end when it refuses one
	orderSpawn = 't' // have a thread more
)

var hoard [][]byte // the node's own; every test's node is a process

// TestRealResources injects each resource fault on a node that needs the limited
// resource, and on one that does not. The second never lands.
func TestRealResources(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault  string
		params map[string]any
		order  byte
		times  int
		want   history.LandingState
	}{
		{fault: "cpu", params: map[string]any{"percent": 5}, order: orderBurn, times: 2, want: history.Landed},
		{fault: "cpu", params: map[string]any{"percent": 50}, want: history.NotLanded}, // of 5 % an idle node needs more now and then
		{fault: "cpu", params: map[string]any{"percent": 800}, order: orderBurn, times: 1, want: history.NotLanded},
		{fault: "memory", params: map[string]any{"headroom_mib": 16, "mode": "oom"}, order: orderTake, times: 4, want: history.Landed},
		{fault: "memory", params: map[string]any{"headroom_mib": 16, "mode": "pressure"}, order: orderTake, times: 4, want: history.Landed},
		{fault: "memory", params: map[string]any{"headroom_mib": 4, "mode": "pressure"}, order: orderMap, times: 1, want: history.Landed},
		{fault: "memory", params: map[string]any{"headroom_mib": 512, "mode": "oom"}, order: orderTake, times: 2, want: history.NotLanded},
		{fault: "memory", params: map[string]any{"headroom_mib": 512}, order: orderTake, times: 2, want: history.NotLanded},
		{fault: "fds", want: history.Landed},
		{fault: "fds", params: map[string]any{"spare": 500}, want: history.NotLanded},
		{fault: "pids", order: orderSpawn, times: 20, want: history.Landed},
		{fault: "pids", params: map[string]any{"spare": 20}, want: history.NotLanded}, // a Go program asks for one now and then, and not for so many
		{fault: "pids", params: map[string]any{"spare": 500}, order: orderSpawn, times: 20, want: history.NotLanded},
	}
	for _, test := range tests {
		t.Run(fmt.Sprintf("%s %v %d orders", test.fault, test.params, test.times), func(t *testing.T) {
			needs(t, test.fault)
			t.Parallel()
			c := startReal(t, false)
			soft := softFiles(t, c.nodes[1])
			l, err := c.Inject(t.Context(), resource(t, test.fault, test.params, 60), c.target(2))
			if err != nil {
				t.Fatal(err)
			}
			for range test.times {
				c.nodes[1].order(test.order)
			}
			if test.want == history.Landed {
				within(t, "the limit to be run into", func() error { return c.hit(t, test.fault) })
			}
			if l, err = c.Heal(t.Context(), l.Fault); err != nil {
				t.Fatal(err)
			}
			if l.State != test.want || l.Healed != history.HealVerified {
				t.Errorf("%s %q, healed %s, want %s\n%s", l.State, l.Reasons, l.Healed, test.want, encode(l.Proofs))
			}
			if now := softFiles(t, c.nodes[1]); now != soft {
				t.Errorf("soft limit of open files %d before, %d after", soft, now)
			}
			if left := c.groups(t); len(left) > 0 {
				t.Errorf("control groups left: %q", left)
			}
		})
	}
}

// A node that may open no more files cannot open one again that it closed.
func TestRealFilesClosedMeanwhile(t *testing.T) {
	hosttest.Long(t, "heals wait for new clients")
	needs(t, "fds")
	t.Parallel()
	c := startReal(t, false)
	node := c.nodes[1]
	var clients []net.Conn
	for range 20 {
		clients = append(clients, connected(t, node.addr))
	}
	l, err := c.Inject(t.Context(), resource(t, "fds", nil, 60), c.target(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, conn := range clients {
		conn.Close()
		if took, err := node.Probe(t.Context()); err == nil {
			t.Errorf("a new client was served after %v, when another one had left", took)
		}
	}
	if l, err = c.Heal(t.Context(), l.Fault); err != nil || l.State != history.Landed || l.Healed != history.HealVerified {
		t.Errorf("%s, healed %s, %v", l.State, l.Healed, err)
	}
}

// With some to spare the limit follows the files that a node closes.
func TestRealSpareFilesClosedMeanwhile(t *testing.T) {
	hosttest.Long(t, "heals wait for new clients")
	needs(t, "fds")
	t.Parallel()
	c := startReal(t, false)
	conn := connected(t, c.nodes[1].addr)
	l, err := c.Inject(t.Context(), resource(t, "fds", map[string]any{"spare": 2}, 60), c.target(2))
	if err != nil {
		t.Fatal(err)
	}
	limit := softFiles(t, c.nodes[1])
	conn.Close()
	within(t, "it to have lost what it closed", func() error {
		if now := softFiles(t, c.nodes[1]); now >= limit {
			return fmt.Errorf("it may open %d, as before", now)
		}
		return nil
	})
	if l, err = c.Heal(t.Context(), l.Fault); err != nil || l.Healed != history.HealVerified {
		t.Errorf("%s, healed %s, %v", l.State, l.Healed, err)
	}
}

// connected is a client that the node serves, until the test ends.
func connected(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.Write([]byte{'-'}); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// A limit holds for the process that the node is after another fault started
// it again, overlaps compose, and they heal in any order.
func TestRealLimitsOverlap(t *testing.T) {
	hosttest.Long(t, "heals wait for each other")
	t.Parallel()
	for _, first := range []string{"memory", "kill"} {
		t.Run(first+" is healed first", func(t *testing.T) {
			for _, typ := range []string{"cpu", "memory", "fds"} {
				needs(t, typ)
			}
			t.Parallel()
			c := startReal(t, false)
			t.Cleanup(func() { c.HealAll(context.Background()) })
			soft := softFiles(t, c.nodes[0])
			by := map[string]string{}
			for _, typ := range []string{"cpu", "memory", "fds", "kill"} {
				l, err := c.Inject(t.Context(), resource(t, typ, nil, 60), c.target(1))
				if err != nil {
					t.Fatal(err)
				}
				by[typ] = l.Fault
			}
			if _, err := c.Heal(t.Context(), by[first]); err != nil {
				t.Fatal(err)
			}
			if first == "kill" {
				within(t, "the new process to be limited", func() error {
					if softFiles(t, c.nodes[0]) == soft {
						return errors.New("it may open as many files as ever")
					}
					for _, dir := range c.groups(t) {
						if in, err := limits.Holds(dir, c.nodes[0].PID()); !in {
							return fmt.Errorf("it is not in %s, %v", dir, err)
						}
					}
					return nil
				})
			}
			if err := c.HealAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if now, left := softFiles(t, c.nodes[0]), c.groups(t); now != soft || len(left) > 0 {
				t.Errorf("after all heals: %d files, before %d; groups %q", now, soft, left)
			}
		})
	}
}

// The journal removes the control groups that a dead keeper left, and nobody
// else's.
func TestRealLimitsUndo(t *testing.T) {
	t.Parallel()
	needs(t, "cpu")
	needs(t, "memory")
	c := startReal(t, false)
	t.Cleanup(func() { c.HealAll(context.Background()) })
	for _, typ := range []string{"cpu", "memory"} {
		if _, err := c.Inject(t.Context(), resource(t, typ, nil, 60), c.target(1)); err != nil {
			t.Fatal(err)
		}
	}
	groups := c.groups(t)
	if len(groups) == 0 {
		t.Fatal("no group was made")
	}
	foreign := filepath.Join(filepath.Dir(groups[0]), limits.Name("another-run", "node-1"))
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(foreign) })

	pending, err := Pending(c.journal.lines)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time changes nothing
		healed, err := Recover(t.Context(), pending, Undoers())
		if err != nil || len(healed) != 2 {
			t.Fatalf("undone: %v, %v", healed, err)
		}
	}
	if left := c.groups(t); len(left) > 0 {
		t.Errorf("control groups left: %q", left)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("somebody else's group: %v", err)
	}
	if state, err := c.nodes[0].State(t.Context()); state != Running {
		t.Errorf("a process that outlived its keeper is %s, %v", state, err)
	}
	if err := c.HealAll(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestResourceBadInput(t *testing.T) {
	for _, test := range []struct {
		fault  string
		params map[string]any
		want   string
	}{
		{"cpu", map[string]any{"percent": 0}, "valid: a number from 1 to 6400"},
		{"memory", map[string]any{"mode": "swap"}, "valid: pressure, oom"},
		{"memory", map[string]any{"limit": 5}, "valid: duration_s, headroom_mib, mode"},
		{"fds", map[string]any{"spare": 1.5}, "valid: a whole number"},
		{"pids", map[string]any{"spare": -1}, "valid: a number from 0"},
	} {
		if _, err := Parse(test.fault, test.params); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s %v: %v, want %q", test.fault, test.params, err, test.want)
		}
	}
}

// A node that is no process of ours cannot be limited, and one that may open
// fewer files than asked for is not.
func TestResourceRefused(t *testing.T) {
	r := newRig(2)
	for _, typ := range []string{"cpu", "memory", "fds", "pids"} {
		l, err := r.Inject(t.Context(), request(t, typ, 1), r.on(1))
		if !errors.Is(err, ErrUnsupported) || l.State != history.Unsupported {
			t.Errorf("%s: %s, %v", typ, l.State, err)
		}
	}
	needs(t, "fds")
	c := startReal(t, false)
	if _, err := c.Inject(t.Context(), resource(t, "fds", map[string]any{"spare": 100000}, 1), c.target(1)); err == nil {
		t.Error("100000 files to spare were not refused")
	}
	c.nodes[0].Set(t.Context(), Killed)
	if _, err := c.Inject(t.Context(), resource(t, "fds", nil, 1), c.target(1)); err == nil || !strings.Contains(err.Error(), "not running") {
		t.Errorf("a dead node: %v", err)
	}
}
