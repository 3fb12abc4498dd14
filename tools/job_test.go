package tools

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// jobDirOf is a job of a kind, on which nobody works yet.
func jobDirOf(t testing.TB, kind campaigns.Kind) *campaigns.JobDir {
	t.Helper()
	d, err := campaigns.NewJobDir(t.TempDir(), campaigns.Job{Format: 1, Kind: kind, RunID: "run-1", Wanted: campaigns.Fingerprint{{Claim: "qos1-no-loss", Checker: "loss@2"}},
		Rule: shrink.Rule{K: 1, N: 3}, Start: keeper.Start{Scenario: "mqtt/kill"}}, "---\n", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestReplayRun(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "run-1"), map[string]string{"evidence/run.json": `{"format":1,"id":"run-1"}`})
	d := jobDirOf(t, campaigns.Replay)
	h := &host{runs: dir, jobDirs: map[string]*campaigns.JobDir{"new": d, d.ID(): d}}
	c := connectTo(t, h.server(t, Options{}))

	// While somebody works on it, the answer is how far it is.
	unlock, err := d.Begin()
	if err != nil {
		t.Fatal(err)
	}
	got := structured(t, callTool(t, c, "replay_run", map[string]any{"run_id": "run-1", "times": 5, "wait_s": 0}))
	if got["running"] != true || got["job_id"] != d.ID() || len(h.began) != 1 || h.began[0].Times != 5 || h.began[0].Kind != campaigns.Replay || h.began[0].Envelope.MaxNodes == 0 {
		t.Errorf("%v, began %+v", got, h.began)
	}
	// Its id waits on it, and begins nothing.
	got = structured(t, callTool(t, c, "replay_run", map[string]any{"run_id": d.ID(), "wait_s": 0}))
	if got["running"] != true || len(h.began) != 1 || len(h.resumed) != 0 {
		t.Errorf("%v, began %d, resumed %v", got, len(h.began), h.resumed)
	}
	// One that is over answers what it showed.
	r := d.SoFar()
	r.Ended, r.Headline, r.Failed = true, "came again in 3 of 3 runs", 3
	if err := d.Save(r); err != nil {
		t.Fatal(err)
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	got = structured(t, callTool(t, c, "replay_run", map[string]any{"run_id": d.ID()}))
	if got["running"] != false || got["summary"] != r.Headline || len(h.resumed) != 0 {
		t.Errorf("%v, resumed %v", got, h.resumed)
	}
	// One that was stopped goes on.
	r.Ended, r.Error = false, "it was stopped"
	if err := d.Save(r); err != nil {
		t.Fatal(err)
	}
	got = structured(t, callTool(t, c, "replay_run", map[string]any{"run_id": d.ID()}))
	if text, _ := got["summary"].(string); !strings.Contains(text, "it was stopped") || len(h.resumed) != 1 {
		t.Errorf("%v, resumed %v", got, h.resumed)
	}
	for _, bad := range []struct {
		tool string
		args map[string]any
		says string
	}{
		{"replay_run", map[string]any{"run_id": "nope"}, "no run"},
		{"reduce_run", map[string]any{"run_id": d.ID()}, "call replay_run with it"},
		{"replay_run", map[string]any{"run_id": "run-1", "times": 0}, "1 to 50"},
	} {
		if r := callTool(t, c, bad.tool, bad.args); !r.IsError || !strings.Contains(textOf(r), bad.says) {
			t.Errorf("%v: %s", bad.args, textOf(r))
		}
	}
}

// A job is said to have stopped once nobody works on it, and to go on by the call that
// goes on with it.
func TestStopRunOfAJob(t *testing.T) {
	for kind, on := range map[campaigns.Kind]string{
		campaigns.Replay: `replay_run with run_id "replay-run-1" resumes it`,
		campaigns.Series: "run_scenario with the same arguments resumes it",
	} {
		d := jobDirOf(t, kind)
		c := connectTo(t, (&host{runs: t.TempDir(), jobDirs: map[string]*campaigns.JobDir{d.ID(): d}}).server(t, Options{}))
		stop := func(running bool, summary, next string) {
			t.Helper()
			got := structured(t, callTool(t, c, "stop_run", map[string]any{"run_id": d.ID(), "wait_s": 0}))
			if got["running"] != running || !strings.HasPrefix(got["summary"].(string), summary) || fmt.Sprint(got["next_steps"]) != "["+next+"]" {
				t.Errorf("%s: %v", kind, got)
			}
		}
		unlock, err := d.Begin()
		if err != nil {
			t.Fatal(err)
		}
		stop(true, "asked to stop: its run is still to be healed", fmt.Sprintf("get_run with run_id %q waits for its end then %s", d.ID(), on))
		if !d.Stopped() {
			t.Errorf("%s: it was not asked", kind)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
		stop(false, "no process was working on it: stopped after 0 of 3 runs", on)
	}
}

func TestReduceRun(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "run-1"), map[string]string{"evidence/run.json": `{"format":1,"id":"run-1"}`})
	d := jobDirOf(t, campaigns.Reduce)
	h := &host{runs: dir, jobDirs: map[string]*campaigns.JobDir{"new": d}}
	if text := madeOf(d, 7); text != "7 runs" {
		t.Errorf("of a reduction: %s", text)
	}
	r := d.SoFar()
	r.Ended, r.Headline = true, "run-1 is reduced"
	r.Reduction = &campaigns.Reduction{Scenario: d.Scenario(), Command: "rmq-mcp run kill-reduced.md", Minimal: true, Changes: []campaigns.Change{{What: "publishers", From: "3", To: "1"}}}
	if err := d.Save(r); err != nil {
		t.Fatal(err)
	}
	c := connectTo(t, h.server(t, Options{}))
	got := structured(t, callTool(t, c, "reduce_run", map[string]any{"run_id": "run-1", "claims": "qos1-no-loss", "within_min": 30}))
	reduced, _ := got["reduced"].(map[string]any)
	if reduced["text"] != "---\n" || reduced["command"] != "rmq-mcp run kill-reduced.md" || got["summary"] != r.Headline {
		t.Errorf("%v", got)
	}
	if ask := h.began[0]; ask.Within != 30*time.Minute || len(ask.Claims) != 1 || ask.Kind != campaigns.Reduce {
		t.Errorf("asked %+v", ask)
	}
}

func TestReplayRunForBlame(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "run-1"), map[string]string{"evidence/run.json": `{"format":1,"id":"run-1"}`})
	d := jobDirOf(t, campaigns.Blame)
	h := &host{runs: dir, jobDirs: map[string]*campaigns.JobDir{"new": d, d.ID(): d}}
	r := d.SoFar()
	r.Ended, r.Headline = true, "qos1-no-loss: broker, by control"
	r.Comparison = &campaigns.Comparison{
		Attributions: []reports.Attribution{{Cause: reports.CauseBroker, Proof: "control", Claims: []string{"qos1-no-loss"}, Text: "every SDK fails"}},
		Notes:        []string{"one run shows nothing"},
	}
	if err := d.Save(r); err != nil {
		t.Fatal(err)
	}
	c := connectTo(t, h.server(t, Options{}))
	want := "[qos1-no-loss: broker, by control: every SDK fails note: one run shows nothing]"
	got := structured(t, callTool(t, c, "replay_run", map[string]any{"run_id": "run-1", "blame": true}))
	if fmt.Sprint(got["blame"]) != want || len(h.began) != 1 || h.began[0].Kind != campaigns.Blame {
		t.Errorf("%v, began %+v", got, h.began)
	}
	// The failure is decided, so that the next step is to publish.
	if next := fmt.Sprint(got["next_steps"]); !strings.HasPrefix(next, "[push_report with runs ["+strconv.Quote(d.ID())+"]") {
		t.Errorf("%s", next)
	}
	// Its id is the same job's, without the word again.
	if got = structured(t, callTool(t, c, "replay_run", map[string]any{"run_id": d.ID()})); fmt.Sprint(got["blame"]) != want || len(h.began) != 1 {
		t.Errorf("%v, began %d", got, len(h.began))
	}
}

// Several libraries, repeats, blame or a fault of one's own make a series, and get_run
// waits on it.
func TestRunScenarioSeveralTimes(t *testing.T) {
	d := jobDirOf(t, campaigns.Series)
	for args, want := range map[string]jobs.Ask{
		`{"sdks":["go","python/paho-mqtt@2.1.0"],"repeats":3}`: {Times: 3, Series: &jobs.SeriesAsk{SDKs: []string{"go", "python/paho-mqtt@2.1.0"}}},
		`{"blame":true,"seed":7}`:                              {Times: 1, Series: &jobs.SeriesAsk{Blame: true, Start: keeper.Start{Seed: 7}}},
		`{"fault":"kill","target":"leader","duration_s":20}`:   {Times: 1, Series: &jobs.SeriesAsk{Fault: &scenarios.Step{Fault: "kill", Target: "leader", DurationS: 20}}},
		`{"repeats":2,"faults":false}`:                         {Times: 2, Series: &jobs.SeriesAsk{Start: keeper.Start{NoFaults: true}}},
	} {
		h := &host{runs: runsDir(t), jobDirs: map[string]*campaigns.JobDir{"new": d, d.ID(): d}}
		c := connectTo(t, h.server(t, Options{}))
		var given map[string]any
		if err := json.Unmarshal([]byte(args), &given); err != nil {
			t.Fatal(err)
		}
		given["scenario"], given["wait_s"] = "mqtt/broker-kill-9", 0
		got := structured(t, callTool(t, c, "run_scenario", given))
		if len(h.began) != 1 || got["run_id"] != d.ID() || got["job"] == nil || got["scenario"] != nil {
			t.Fatalf("%s: began %+v, %v", args, h.began, got)
		}
		began := h.began[0]
		if began.Kind != campaigns.Series || began.Envelope.MaxNodes == 0 || began.Caller.Tool != "run_scenario" || began.Series.Start.Scenario != "mqtt/broker-kill-9" {
			t.Errorf("%s: %+v", args, began)
		}
		began.Kind, began.Envelope, began.Caller = "", envelope.Envelope{}, keeper.Caller{}
		began.Series.Start.Scenario, began.Series.Start.Caller = "", keeper.Caller{}
		if diff := cmp.Diff(want, began, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", args, diff)
		}
		if waited := structured(t, callTool(t, c, "get_run", map[string]any{"run_id": d.ID(), "wait_s": 0})); waited["job"] == nil {
			t.Errorf("get_run: %v", waited)
		}
	}
	c := connectTo(t, (&host{runs: runsDir(t)}).server(t, Options{}))
	for args, says := range map[string]string{
		`{"target":"leader"}`:             `those of "fault"`,
		`{"fault":"kill","faults":false}`: "leave one of them out",
		`{"repeats":0}`:                   "1 to 50",
	} {
		var given map[string]any
		if err := json.Unmarshal([]byte(args), &given); err != nil {
			t.Fatal(err)
		}
		given["scenario"] = "mqtt/broker-kill-9"
		if r := callTool(t, c, "run_scenario", given); !r.IsError || !strings.Contains(textOf(r), says) {
			t.Errorf("%s: %s", args, textOf(r))
		}
	}
}
