package main

import (
	"path/filepath"
	"slices"
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
	c := live(t, keeper.Start{GraceS: 1, Cluster: cluster.Config{Arm: []string{"disk"}}})
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

// live is an experiment of the binary's, driven by hand, that serves.
func live(t *testing.T, start keeper.Start) *keeper.Client {
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
	if s, err := c.Wait(t.Context(), 2*time.Minute); err != nil || s.Phase != history.PhaseReady {
		t.Fatalf("%s: %s, %v", s.Phase, s.Error, err)
	}
	return c
}
