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

// A run that is to have somebody else's broker alone has it alone, by whatever name another
// run knows it. The others share it.
func TestHoldBrokers(t *testing.T) {
	const one, other = "127.0.0.1:1883", "127.0.0.1:1884"
	at := func(endpoints ...string) cluster.Config { return cluster.Config{Endpoints: endpoints} }
	process := func(endpoints ...string) cluster.Config {
		return cluster.Config{Endpoints: endpoints, PIDs: []int{4242, 4243}[:len(endpoints)]}
	}
	box := func(endpoint string) cluster.Config {
		return cluster.Config{Endpoints: []string{endpoint}, Containers: []string{"broker"}}
	}
	for _, c := range []struct {
		name                    string
		first, second           cluster.Config
		firstAlone, secondAlone bool
		shared                  bool
	}{
		{"both share", at(one), at(one), false, false, true},
		{"the first is alone", process(one), at(one), true, false, false},
		{"the second is alone", at(one), box(one), false, true, false},
		{"both are alone", process(one), process(one), true, true, false},
		{"another listener of one process", process(one), process(other), true, false, false},
		{"another listener of one container", box(one), box(other), true, false, false},
		{"localhost", at(one), at("localhost:1883"), true, false, false},
		{"IPv6", at(one), at("[::1]:1883"), true, false, false},
		{"one broker by two names", process(one, "localhost:1883"), at(one), true, false, false},
		{"another broker", process(one), at(other), true, true, true},
		{"brokers of our own", cluster.Config{}, cluster.Config{}, false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := stateDir(t)
			if err := OpenState(dir); err != nil {
				t.Fatal(err)
			}
			release, err := holdBrokers(t.Context(), dir, c.first, c.firstAlone)
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			if !c.shared {
				soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				if _, err := holdBrokers(soon, dir, c.second, c.secondAlone); err == nil || !strings.Contains(err.Error(), "another run uses it") {
					t.Errorf("beside the first: %v", err)
				}
				release()
			}
			again, err := holdBrokers(t.Context(), dir, c.second, c.secondAlone)
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
	first := spawn(t, SpawnOptions{StateDir: dir, Start: Start{Cluster: theirs}, Alone: true})
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
