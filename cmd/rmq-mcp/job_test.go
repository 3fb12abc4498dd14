package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// TestFromFailureToFinding runs a scenario on a broker with a planted defect, which
// is repeated by itself, replays the last run, and has it reduced by a server that
// leaves meanwhile.
func TestFromFailureToFinding(t *testing.T) {
	hosttest.Long(t, "it makes several runs")
	t.Parallel()
	dir := t.TempDir()
	t.Cleanup(func() { stopAll(t, dir) })
	t.Cleanup(func() { stopJobs(t, dir) })
	out := mustFail(t, rmq(t, dir, "run", "../../campaigns/selftest/scenarios/steady.md", "--plant", "deliver-twice", "--arm", "tap", "--json"))
	var series SeriesReport
	if err := json.Unmarshal(out, &series); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	v := series.Verdict
	twice := slices.IndexFunc(v.Tally, func(k verdict.Tally) bool { return k.Claim == "qos2-exactly-once" })
	if v.State != verdict.FailReproducible || len(series.Runs) != 3 || len(v.Runs) != len(series.Runs) || twice < 0 || v.Tally[twice].Failed < 2 {
		t.Fatalf("%s, %d runs, %+v", v.Headline, len(series.Runs), v.Tally)
	}

	out = mustFail(t, rmq(t, dir, "replay", "latest", "--times", "1", "--json"))
	var r campaigns.Result
	if err := json.Unmarshal(out, &r); err != nil || !r.Ended || r.Failed != 1 || len(r.Wanted) == 0 || len(r.Trials) != 1 {
		t.Fatalf("%v: %s", err, out)
	}

	a := connectAgent(t, &mcp.CommandTransport{Command: rmq(t, dir, "serve")})
	begun := a.call("reduce_run", map[string]any{"run_id": r.RunID, "wait_s": 0})
	id, _ := begun["job_id"].(string)
	if begun["running"] != true || id == "" {
		t.Fatalf("%v", begun)
	}
	if err := a.session.Close(); err != nil {
		t.Fatal(err)
	}
	// Its server is gone; a first run is made all the same.
	jobDir := until(t, dir, id, func(d *campaigns.JobDir) bool { return len(d.Trials) > 0 })
	if !jobDir.Busy() {
		t.Error("it ended with its server")
	}
	if first := jobDir.Trials[0]; first.Answer != "fails" {
		t.Errorf("the run's own scenario: %+v", first)
	}
	// Another server joins it, and ends it.
	a = connectAgent(t, &mcp.CommandTransport{Command: rmq(t, dir, "serve")})
	if again := a.call("reduce_run", map[string]any{"run_id": r.RunID, "wait_s": 0}); again["job_id"] != id {
		t.Errorf("the same again is %v, not %s", again["job_id"], id)
	}
	a.call("stop_run", map[string]any{"run_id": id})
	until(t, dir, id, func(d *campaigns.JobDir) bool { return !d.Busy() })
	if found, err := filepath.Glob(filepath.Join(dir, campaigns.JobsDir, "*")); err != nil || len(found) != 2 {
		t.Errorf("jobs %v, %v", found, err)
	}
}

// mustFail answers what a command that says FAIL printed.
func mustFail(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v: %v: %s", cmd.Args, err, out)
	}
	return out
}

// until waits for a condition on a job.
func until(t *testing.T, dir, id string, is func(*campaigns.JobDir) bool) *campaigns.JobDir {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if d, ok := campaigns.FindJob(dir, id); ok && is(d) {
			return d
		}
	}
	t.Fatalf("job %s: not within three minutes", id)
	return nil
}

// stopJobs ends what still works on a job, however a test ended.
func stopJobs(t *testing.T, dir string) {
	found, err := filepath.Glob(filepath.Join(dir, campaigns.JobsDir, "*"))
	if err != nil {
		t.Error(err)
	}
	for _, path := range found {
		d, err := campaigns.OpenJobDir(path)
		if err != nil || !d.Busy() {
			continue
		}
		if err := d.AskStop(); err != nil {
			t.Error(err)
		}
		until(t, dir, d.ID(), func(d *campaigns.JobDir) bool { return !d.Busy() })
	}
}
