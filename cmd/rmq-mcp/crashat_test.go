package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A node dies at the n-th write of a file, which is held until it is gone; and
// a write that never comes is no crash.
func TestCrashAtFileOperation(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	t.Parallel()
	if err := disk.Available(); err != nil {
		hosttest.Skip(t, err.Error())
	}
	c := explored(t, keeper.Start{GraceS: 1, Cluster: cluster.Config{Arm: []string{"disk"}}})
	if _, err := c.RunClient(t.Context(), keeper.RunClient{Scenario: "mqtt/broker-kill-9", DurationS: 60}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		pattern string
		want    history.LandingState
	}{{"*.blk", history.Landed}, {"*.nothing", history.NotLanded}} {
		f, err := c.Inject(t.Context(), keeper.Inject{Type: "crash_at", Target: "leader", Params: map[string]any{
			"trigger": "file", "op": "write", "pattern": step.pattern, "nth": 3, "wait_s": 10, "duration_s": 1,
		}})
		if err != nil {
			t.Fatal(err)
		}
		l := history.Landing{Healed: history.HealPending}
		for await := time.Now().Add(time.Minute); l.Healed == history.HealPending && time.Now().Before(await); time.Sleep(50 * time.Millisecond) {
			all, err := history.ReadLandings(filepath.Join(c.Info().Dir, "evidence"))
			if err != nil {
				t.Fatal(err)
			}
			if i := slices.IndexFunc(all, func(l history.Landing) bool { return l.Fault == f.ID }); i >= 0 {
				l = all[i]
			}
		}
		if l.State != step.want || l.Healed != history.HealVerified {
			t.Errorf("%s: %s, healed %s: %q", step.pattern, l.State, l.Healed, l.Reasons)
		}
		t.Logf("%s: killed %v after the trigger", step.pattern, time.Duration(l.Times.AppliedNS-l.Times.TriggerNS))
	}
}

// A stop does not wait for the moment of a fault, and the fault does not come after it.
func TestStopBeforeTheMoment(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "kill", "one-node.md"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scenario.md")
	waits := strings.Replace(string(text), "fault: pause, target: any", "fault: crash_at, target: any, params: {trigger: log, pattern: no line says this, wait_s: 60}", 1)
	if err := os.WriteFile(path, []byte(waits), 0o600); err != nil {
		t.Fatal(err)
	}
	c := spawned(t, keeper.Start{GraceS: 1, Scenario: path})
	within := time.Now().Add(2 * time.Minute)
	for s, err := c.Status(t.Context()); len(s.Faults) == 0; s, err = c.Status(t.Context()) {
		if err != nil || time.Now().After(within) {
			t.Fatalf("%s: %s, %v", s.Phase, s.Error, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(time.Second) // it waits then
	began := time.Now()
	if _, err := c.Stop(t.Context(), keeper.Caller{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it stopped after %v", took)
	}
	all, err := history.ReadLandings(filepath.Join(c.Info().Dir, "evidence"))
	if err != nil || len(all) != 1 || all[0].State == history.Landed || all[0].Times.AppliedNS > 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

// explored is an experiment of the binary's, driven by hand, that serves.
func explored(t *testing.T, start keeper.Start) *keeper.Client {
	t.Helper()
	c := spawned(t, start)
	if s, err := c.Wait(t.Context(), 2*time.Minute); err != nil || s.Phase != history.PhaseReady {
		t.Fatalf("%s: %s, %v", s.Phase, s.Error, err)
	}
	return c
}

// spawned is an experiment of the binary's that starts.
func spawned(t *testing.T, start keeper.Start) *keeper.Client {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() { // its guard cleans up behind the keeper
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if left, _ := filepath.Glob(filepath.Join(dir, "live", "*")); len(left) == 0 {
				return
			}
		}
		t.Error("the experiment is still there")
	})
	c, err := keeper.Spawn(t.Context(), keeper.SpawnOptions{StateDir: dir, Self: []string{binary()}, Start: start})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
