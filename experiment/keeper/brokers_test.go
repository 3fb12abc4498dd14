package keeper

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A run with faults on somebody else's broker has it alone, by whatever name another run
// knows it. Runs that only connect share it.
func TestHoldBrokers(t *testing.T) {
	const one, other = "127.0.0.1:1883", "127.0.0.1:1884"
	theirs := func(endpoint string, edit func(*Start)) Start {
		s := Start{Cluster: cluster.Config{Endpoints: []string{endpoint}}}
		if edit != nil {
			edit(&s)
		}
		return s
	}
	pid := func(s *Start) { s.Cluster.PIDs = []int{4242} }
	box := func(s *Start) { s.Cluster.Containers = []string{"broker"} }
	for _, c := range []struct {
		name          string
		first, second Start
		shared        bool
	}{
		{"both connect", theirs(one, nil), theirs(one, nil), true},
		{"the first has a pid", theirs(one, pid), theirs(one, nil), false},
		{"the second has a container", theirs(one, nil), theirs(one, box), false},
		{"both have a pid", theirs(one, pid), theirs(one, pid), false},
		{"another listener of one process", theirs(one, pid), theirs(other, pid), false},
		{"another listener of one container", theirs(one, box), theirs(other, box), false},
		{"localhost", theirs(one, pid), theirs("localhost:1883", nil), false},
		{"IPv6", theirs(one, pid), theirs("[::1]:1883", nil), false},
		{"another broker", theirs(one, pid), theirs(other, nil), true},
		{"a pid, and no faults", theirs(one, func(s *Start) { pid(s); s.NoFaults = true }), theirs(one, nil), true},
		{"a pid, and no faults on nodes", theirs(one, func(s *Start) { pid(s); s.OffNodes = true }), theirs(one, nil), true},
		{"one broker by two names", Start{Cluster: cluster.Config{Endpoints: []string{one, "localhost:1883"}, PIDs: []int{4, 5}}}, theirs(one, nil), false},
		{"brokers of our own", Start{}, Start{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := stateDir(t)
			if err := OpenState(dir); err != nil {
				t.Fatal(err)
			}
			release, err := holdBrokers(t.Context(), dir, c.first)
			if err != nil {
				t.Fatal(err)
			}
			if !c.shared {
				soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if _, err := holdBrokers(soon, dir, c.second); err == nil || !strings.Contains(err.Error(), "another run uses it") {
					t.Errorf("beside the first: %v", err)
				}
				release()
			}
			defer release()
			again, err := holdBrokers(t.Context(), dir, c.second)
			if err != nil {
				t.Fatal(err)
			}
			again()
		})
	}
}

// A run is refused before it has begun anything, and goes ahead once the first has ended.
func TestBrokerOfAnotherRun(t *testing.T) {
	hosttest.Long(t, "the second run waits for the first")
	dir := stateDir(t)
	theirs := cluster.Config{Flavor: "external", Endpoints: []string{"127.0.0.1:1883"}}
	broken := theirs
	broken.PIDs = []int{4242}
	first := spawn(t, SpawnOptions{StateDir: dir, Start: Start{Cluster: broken}})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	_, err = Spawn(t.Context(), SpawnOptions{StateDir: dir, Self: []string{exe}, Start: Start{Cluster: theirs}})
	if err == nil || !strings.HasPrefix(err.Error(), "use broker 127.0.0.1:1883: another run uses it") {
		t.Errorf("a second run: %v", err)
	}
	if runs, err := os.ReadDir(filepath.Join(dir, "runs")); err != nil || len(runs) != 1 {
		t.Errorf("runs/ has %v, %v; want the first run alone", runs, err)
	}
	if live, err := List(dir); err != nil || len(live) != 1 || live[0].ID != first.Info().ID {
		t.Errorf("live are %+v, %v; want the first run", live, err)
	}
	if _, err := first.Stop(t.Context(), Caller{}); err != nil {
		t.Fatal(err)
	}
	spawn(t, SpawnOptions{StateDir: dir, Start: Start{Cluster: theirs}})
}
