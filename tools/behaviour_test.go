package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// runsDir has one run, latest, with a report and nothing else.
func runsDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "latest", "evidence"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "latest", "report.md"), []byte("# Report\n"+strings.Repeat("é", pageBytes)), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Every refusal says what was wrong, what would be right, and changes nothing.
func TestBadInput(t *testing.T) {
	tests := []struct {
		name string
		tool string
		args map[string]any
		want []string
	}{
		{"unknown argument", "inject_fault", map[string]any{"type": "kill", "target": "any", "duration": 3.0}, []string{`unknown argument "duration"`, "valid arguments: type, target, params, experiment", "Nothing was changed"}},
		{"missing", "inject_fault", map[string]any{"type": "kill"}, []string{`"target" is missing`, `"leader"`}},
		{"unknown fault", "inject_fault", map[string]any{"type": "meteor", "target": "any"}, []string{`"meteor"`, "kill, pause, stop"}},
		{"wrong type", "cluster_start", map[string]any{"nodes": "three"}, []string{`"nodes" is "three"`, "an integer from 1 to 5", "such as 3"}},
		{"fraction", "cluster_start", map[string]any{"nodes": 2.5}, []string{"an integer"}},
		{"out of range", "cluster_start", map[string]any{"nodes": 9.0}, []string{`"nodes" is 9`, "1 to 5"}},
		{"unknown field", "cluster_start", map[string]any{"config": map[string]any{"flavour": "reference"}}, []string{`"config.flavour"`, "flavor, broker"}},
		{"unknown flavor", "cluster_start", map[string]any{"config": map[string]any{"flavor": "kafka"}}, []string{`"kafka"`, strings.Join(cluster.FlavorNames(cluster.Any), ", ")}},
		{"not an object", "cluster_start", map[string]any{"config": []any{1.0}}, []string{`"config"`, "an object"}},
		{"unknown scenario", "run_scenario", map[string]any{"scenario": "mqtt/nope"}, []string{`"mqtt/nope"`, "mqtt/broker-kill-9", "list_scenarios"}},
		{"a file", "run_scenario", map[string]any{"scenario": "/etc/passwd.md"}, []string{"no scenario"}},
		{"unknown language", "run_client", map[string]any{"sdk_lang": "cobol", "scenario": "mqtt/broker-kill-9"}, []string{`"cobol"`, "go, python"}},
		{"a path for a run", "get_run", map[string]any{"run_id": "../../etc"}, []string{"not a run_id", "latest"}},
		{"unknown run", "get_run", map[string]any{"run_id": "r9"}, []string{"no run r9"}},
		{"a claim for no view", "get_run", map[string]any{"at": "qos1-no-loss"}, []string{"view summary takes no \"at\"", "set view to anomalies"}},
		{"rows for another view", "get_run", map[string]any{"view": "journal", "rows": 5}, []string{"view journal takes no \"rows\"", "history"}},
		{"view", "get_run", map[string]any{"view": "everything"}, []string{`"everything"`, "summary, anomalies"}},
		{"binary", "cluster_start", map[string]any{"config": map[string]any{"flavor": "robustmq", "binary": "/tmp/evil"}}, []string{"/tmp/evil", "add \"/tmp/evil\" to `allowed_binaries`", "--envelope", "Nothing was changed"}},
		{"document", "cluster_start", map[string]any{"config": map[string]any{"broker": "/tmp/evil.yaml"}}, []string{"/tmp/evil.yaml", "add \"/tmp/evil.yaml\" to `allowed_brokers`", "Nothing was changed"}},
		{"text of a document", "cluster_start", map[string]any{"config": map[string]any{"document": "name: evil"}}, []string{`"config.document"`}},
		{"endpoint", "cluster_start", map[string]any{"config": map[string]any{"flavor": "external", "endpoints": []any{"prod:1883"}}}, []string{"prod:1883", "allowed_endpoints"}},
		{"a directive in a setting", "cluster_start", map[string]any{"config": map[string]any{"flavor": "mosquitto", "settings": map[string]any{"max_queued_messages": "1\nlog_dest file /tmp/x"}}}, []string{"max_queued_messages", "expected a whole number from 0", "Nothing was changed"}},
		{"a list in a setting", "run_scenario", map[string]any{"scenario": "mqtt/broker-kill-9", "config": map[string]any{"flavor": "reference", "settings": map[string]any{"ack_wait_ms": []any{1.0}}}}, []string{"ack_wait_ms", "expected a whole number"}},
		{"long fault", "inject_fault", map[string]any{"type": "kill", "target": "any", "params": map[string]any{"duration_s": 4000.0}}, []string{"max_fault_duration_s"}},
		{"endless fault", "inject_fault", map[string]any{"type": "kill", "target": "any", "params": map[string]any{"duration_s": 0.0}}, []string{"above 0"}},
		{"destination", "push_report", map[string]any{"report": map[string]any{"runs": []any{"latest"}, "title": "x", "destination": "github:a/b"}}, []string{"github:a/b", `add "github:a/b" to`}},
		{"no title", "push_report", map[string]any{"report": map[string]any{"runs": []any{"latest"}, "title": " "}}, []string{`"report.title" is empty`, "Nothing was changed"}},
		{"no node", "get_logs", map[string]any{"node": "node-9"}, []string{"node-9", "node-1, node-2"}},
		{"heal of nothing", "heal_fault", map[string]any{"fault_id": "f9"}, []string{"heal f9", "faults of run-1: none"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake("run-1", "")
			h := &host{live: []*fake{f}, runs: runsDir(t)}
			result := callTool(t, connectTo(t, h.server(t, Options{})), tt.tool, tt.args)
			if !result.IsError {
				t.Fatalf("it was accepted: %s", textOf(result))
			}
			for _, want := range tt.want {
				if !strings.Contains(textOf(result), want) {
					t.Errorf("no %q in: %s", want, textOf(result))
				}
			}
			if len(h.started)+len(h.pushed)+len(f.injected)+len(f.healed)+len(f.clients) > 0 || f.stopped {
				t.Error("something was changed")
			}
		})
	}
}

func TestWhatIsPlainlyMeantIsTaken(t *testing.T) {
	h := &host{}
	callTool(t, connectTo(t, h.server(t, Options{})), "cluster_start", map[string]any{"nodes": "3", "config": `{"flavor":"reference"}`, "wait_s": "0"})
	if len(h.started) != 1 {
		t.Fatal("not started")
	}
	if diff := cmp.Diff(cluster.Config{Flavor: "reference", Nodes: 3}, h.started[0].Cluster); diff != "" {
		t.Error(diff)
	}
}

func TestWhichExperiment(t *testing.T) {
	none := &host{}
	if text := textOf(callTool(t, connectTo(t, none.server(t, Options{})), "cluster_status", nil)); !strings.Contains(text, "cluster_start") {
		t.Errorf("none live: %s", text)
	}
	two := &host{live: []*fake{newFake("run-1", ""), newFake("run-2", "mqtt/broker-kill-9")}}
	c := connectTo(t, two.server(t, Options{}))
	if text := textOf(callTool(t, c, "cluster_status", nil)); !strings.Contains(text, "run-1") || !strings.Contains(text, "run-2") {
		t.Errorf("two live: %s", text)
	}
	if got := structured(t, callTool(t, c, "cluster_status", map[string]any{"experiment": "run-2"})); got["run_id"] != "run-2" {
		t.Errorf("asked for run-2, got %v", got["run_id"])
	}
}

func TestScenarioThatLastsAnswersRunning(t *testing.T) {
	h := &host{}
	got := structured(t, callTool(t, connectTo(t, h.server(t, Options{})), "run_scenario", map[string]any{"scenario": "mqtt/broker-kill-9", "wait_s": 0.01}))
	if got["running"] != true || !strings.Contains(got["next_steps"].([]any)[0].(string), "get_run") {
		t.Errorf("%v", got)
	}
}

func TestStopAnswersTheVerdict(t *testing.T) {
	f := newFake("run-1", "")
	h := &host{live: []*fake{f}}
	got := structured(t, callTool(t, connectTo(t, h.server(t, Options{})), "cluster_stop", map[string]any{"wait_s": 5}))
	v, _ := got["verdict"].(map[string]any)
	if v["state"] != "PASS-smoke" || got["root"] != "abc" || got["running"] != false {
		t.Errorf("%v", got)
	}
}

func TestConcurrentFaultsAreLimited(t *testing.T) {
	f := newFake("run-1", "")
	for range 8 {
		f.status.Faults = append(f.status.Faults, keeper.FaultStatus{State: history.Landed, Healed: history.HealPending})
	}
	h := &host{live: []*fake{f}}
	result := callTool(t, connectTo(t, h.server(t, Options{})), "inject_fault", map[string]any{"type": "kill", "target": "any"})
	if !result.IsError || !strings.Contains(textOf(result), "max_concurrent_faults") {
		t.Error(textOf(result))
	}
}

func TestFaultIsBoundedWhereNothingWasSaid(t *testing.T) {
	f := newFake("run-1", "")
	h := &host{live: []*fake{f}}
	callTool(t, connectTo(t, h.server(t, Options{})), "inject_fault", map[string]any{"type": "kill", "target": "any"})
	if got := f.injected[0].Params["duration_s"]; got != float64(defaultFaultS) {
		t.Errorf("duration_s is %v", got)
	}
}

// One connection to an experiment is enough, and it stays: an experiment
// driven by hand ends with the last one.
func TestConnectionIsKept(t *testing.T) {
	f := newFake("run-1", "")
	h := &host{live: []*fake{f}}
	b := h.backend()
	connects := 0
	inner := b.Connect
	b.Connect = func(id string) (Experiment, error) { connects++; return inner(id) }
	s, err := New(Options{Version: "test", Backend: b, Envelope: envelope.Default("/state")})
	if err != nil {
		t.Fatal(err)
	}
	c := connectTo(t, s)
	for range 3 {
		callTool(t, c, "cluster_status", nil)
	}
	if connects != 1 {
		t.Errorf("%d connections", connects)
	}
}

func TestReportIsPaged(t *testing.T) {
	h := &host{runs: runsDir(t)}
	c := connectTo(t, h.server(t, Options{}))
	page := structured(t, callTool(t, c, "get_run", map[string]any{"view": "report"}))["report"].(map[string]any)
	if page["truncated"] != true || page["next"] == nil {
		t.Fatalf("first page: truncated %v, next %v", page["truncated"], page["next"])
	}
	first := page["text"].(string)
	page = structured(t, callTool(t, c, "get_run", map[string]any{"view": "report", "after": page["next"]}))["report"].(map[string]any)
	for page["next"] != nil {
		first += page["text"].(string)
		page = structured(t, callTool(t, c, "get_run", map[string]any{"view": "report", "after": page["next"]}))["report"].(map[string]any)
	}
	first += page["text"].(string)
	if want := "# Report\n" + strings.Repeat("é", pageBytes); first != want {
		t.Errorf("pages make %d bytes, want %d", len(first), len(want))
	}
}

// Nobody has judged a run that still goes on: 0 lost would be a claim. A judged
// run is shown as the judge read it, also while the keeper is still there.
func TestLostIsShownOnceJudged(t *testing.T) {
	f := newFake("run-1", "")
	h := &host{live: []*fake{f}, runs: t.TempDir()}
	c := connectTo(t, h.server(t, Options{}))
	client := structured(t, callTool(t, c, "run_client", map[string]any{"sdk_lang": "go", "scenario": "mqtt/broker-kill-9"}))
	status := structured(t, callTool(t, c, "cluster_status", nil))
	for _, got := range []map[string]any{client, status} {
		if counts := got["counts"].(map[string]any); counts["lost"] != nil || counts["duplicated"] != nil {
			t.Errorf("%s: %v", got["summary"], counts)
		}
	}
	writeRun(t, filepath.Join(h.runs, "run-1"), map[string]string{
		"summary.json":      `{"run_id":"run-1","duration_s":12,"totals":{"sent":9,"acked":9,"lost":4,"duplicated":2}}`,
		"verdict.json":      `{"state":"FAIL-once","results":[{"claim":{"name":"qos1-no-loss"},"status":"fail","anomalies":[{"kind":"lost"}]}]}`,
		"evidence/run.json": `{"format":1,"id":"run-1","seed":7}`,
	})
	got := structured(t, callTool(t, c, "cluster_stop", map[string]any{"wait_s": 5}))
	if counts := got["counts"].(map[string]any); counts["lost"] != 4.0 || counts["duplicated"] != 2.0 || got["elapsed_s"] != 12.0 || got["seed"] != 7.0 {
		t.Errorf("%v", got)
	}
}

// A repeated run has the words of its report, in every view. No step is advised a second
// time.
func TestRunThatWasRepeated(t *testing.T) {
	own := `"headline":"FAIL-once: not repeated: 20 of 5050 are lost","reasons":["qos1-no-loss (MQTT): 20 of 5050 are lost","not repeated","one client ended"]`
	for _, x := range []struct{ state, headline, blame, says string }{
		{"FAIL-once", "FAIL-once: not repeated: 20 of 5050 are lost", "", `replay_run with run_id "run-1": a failure counts once it repeats; with blame too: whose doing it is; then reduce_run`},
		{"FAIL-reproducible", "FAIL-reproducible: 20 of 5050 are lost (qos1-no-loss failed in 4 of 4 runs)", "", `replay_run with run_id "run-1" and blame: whose doing it is; then reduce_run`},
		{"FAIL-once", "FAIL-once: 20 of 5050 are lost (qos1-no-loss failed in 1 of 3 runs, 2 of which could not tell)", "", `a failure counts once it repeats`},
		{"FAIL-nondeterministic", "FAIL-nondeterministic: 20 of 5050 are lost (qos1-no-loss failed in 1 of 3 runs)", "broker, by control", `reduce_run with run_id "run-1"`},
	} {
		dir := t.TempDir()
		files := map[string]string{
			"evidence/run.json": `{"format":1,"id":"run-1","scenario":"mqtt/broker-kill-9","seed":7}`,
			"summary.json":      fmt.Sprintf(`{"run_id":"run-1","state":%q,"headline":%q}`, x.state, x.headline),
			"verdict.json":      `{"state":"FAIL-once",` + own + `,"results":[{"claim":{"name":"qos1-no-loss"},"status":"fail"}]}`,
		}
		if x.blame != "" {
			files["blame.json"] = fmt.Sprintf(`{"headline":%q}`, x.blame)
		}
		writeRun(t, filepath.Join(dir, "run-1"), files)
		c := connectTo(t, (&host{runs: dir}).server(t, Options{}))
		got := structured(t, callTool(t, c, "get_run", map[string]any{"run_id": "run-1"}))
		line := got["verdict"].(map[string]any)
		repeated := !strings.Contains(x.headline, "not repeated")
		if got["summary"] != x.headline || line["state"] != x.state || strings.Contains(fmt.Sprint(line["reasons"]), "not repeated") == repeated || !strings.Contains(fmt.Sprint(line["reasons"]), "one client ended") {
			t.Errorf("%s: %v", x.headline, got)
		}
		if steps := fmt.Sprint(got["next_steps"]); !strings.Contains(steps, x.says) || x.blame != "" && strings.Contains(steps, "replay_run") {
			t.Errorf("%s: %s", x.headline, steps)
		}
		if view := structured(t, callTool(t, c, "get_run", map[string]any{"run_id": "run-1", "view": "landings"})); view["summary"] != x.state {
			t.Errorf("a view of it says %v, want %s", view["summary"], x.state)
		}
	}
}

// writeRun makes a run directory of files.
func writeRun(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Advice fits the state: traffic that is over is no time for a fault.
func TestNextFitsTheState(t *testing.T) {
	f := newFake("run-1", "")
	f.status.Clients = []keeper.ClientStatus{{State: "done"}}
	h := &host{live: []*fake{f}}
	got := structured(t, callTool(t, connectTo(t, h.server(t, Options{})), "cluster_status", nil))
	if steps := fmt.Sprint(got["next_steps"]); strings.Contains(steps, "inject_fault") || !strings.Contains(steps, "run_client") {
		t.Error(steps)
	}
}
