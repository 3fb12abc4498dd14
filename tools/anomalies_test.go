package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/skills"
)

// All violations are counted, in groups with an example each, and who lost what and
// when. With detail they come one by one, in pages.
func TestAnomaliesSayWhoLostWhatAndWhen(t *testing.T) {
	const listed = 60
	dir := t.TempDir()
	var examples []string
	for i := range listed {
		examples = append(examples, fmt.Sprintf(`{"kind":"lost","process":1,"stream":2,"seq":%d,"t_ns":1500000000,"events":[1,2],"text":"message %d"}`, i, i))
	}
	writeRun(t, filepath.Join(dir, "latest"), map[string]string{
		"evidence/run.json": `{"format":1,"id":"latest","scenario":"mqtt/broker-kill-9","seed":7}`,
		"evidence/tables.jsonl": `{"process":0,"row":{"name":"publisher-1","sdk":"go/a@1"}}
{"process":1,"row":{"name":"offline-1","sdk":"go/a@1"}}
{"process":2,"row":{"name":"paused-1","sdk":"go/a@1"}}
`,
		"verdict.json": `{"state":"FAIL-once","headline":"FAIL-once: lost","results":[{"claim":{"name":"qos1-no-loss"},"status":"fail","anomalies":[` +
			strings.Join(examples, ",") + `]}]}`,
		"report.json": `{"losses":{"total":30,"proven":true,"listed":30,"ranges":[
			{"subscriber":"offline-1","group":"offline","topic":"a","first_seq":0,"last_seq":19,"published_from_ns":1000000000,"published_to_ns":3000000000},
			{"subscriber":"offline-1","group":"offline","topic":"b","first_seq":5,"last_seq":9,"published_from_ns":500000000,"published_to_ns":2000000000},
			{"subscriber":"paused-1","group":"paused","topic":"a","first_seq":0,"last_seq":4,"published_from_ns":1000000000,"published_to_ns":1000000000}]},
			"violations":[
			{"claim":"qos1-no-loss","kind":"lost","client":"offline-1","count":25,"from_ns":500000000,"to_ns":3000000000,"when":"before f1"},
			{"claim":"qos1-no-loss","kind":"lost","client":"paused-1","count":5,"from_ns":1000000000,"to_ns":1000000000,"when":"before f1"}],
			"landings":[{"fault":"f1","times":{"applied_ns":3000000000,"healed_ns":9000000000}}]}`,
	})
	c := connectTo(t, (&host{runs: dir}).server(t, Options{}))
	got := structured(t, callTool(t, c, "get_run", map[string]any{"view": "anomalies"}))
	view := got["anomalies"].(map[string]any)
	want := "[map[group:offline lost:25 published_from_s:0.5 published_to_s:3 subscriber:offline-1 topics:2] " +
		"map[group:paused lost:5 published_from_s:1 published_to_s:1 subscriber:paused-1 topics:1]]"
	if is := fmt.Sprint(view["losses"].(map[string]any)["subscribers"]); is != want {
		t.Errorf("%s\nwant %s", is, want)
	}
	want = "[map[claim:qos1-no-loss clients:[offline-1 paused-1] count:30 example:map[at:2/0@offline-1 at_s:1.5 events:[1 2] text:message 0] " +
		"from_s:0.5 kind:lost sdk:go/a@1 to_s:3 when:before f1]]"
	if is := fmt.Sprint(view["groups"]); is != want || view["list"] != nil {
		t.Errorf("%s\nwant %s", is, want)
	}
	if steps := fmt.Sprint(got["next_steps"]); !strings.Contains(steps, `at "2/0@offline-1"`) || !strings.Contains(steps, "detail") {
		t.Error(steps)
	}
	for _, fact := range []string{"verdict", "scenario", "faults", "dir"} {
		if got[fact] != nil {
			t.Errorf("a view repeats the %s of the run", fact)
		}
	}
	of := structured(t, callTool(t, c, "get_run", map[string]any{"view": "anomalies", "at": "qos1-no-loss"}))
	if of["anomalies"].(map[string]any)["found"] != float64(listed) || of["summary"] != "FAIL-once; qos1-no-loss: fail; 60 violations" {
		t.Errorf("of one claim: %v", of)
	}
	if r := callTool(t, c, "get_run", map[string]any{"view": "anomalies", "at": "3/120"}); !r.IsError || !strings.Contains(textOf(r), "give one of its claims in at: qos1-no-loss") {
		t.Errorf("of no claim: %s", textOf(r))
	}
	seen, next := 0, any(0)
	for next != nil {
		page := structured(t, callTool(t, c, "get_run", map[string]any{"view": "anomalies", "detail": true, "after": next}))["anomalies"].(map[string]any)
		seen += len(page["list"].([]any))
		next = page["next"]
		if page["losses"] != nil || page["groups"] != nil {
			t.Errorf("%v", page)
		}
	}
	if seen != listed {
		t.Errorf("%d of %d violations in the pages", seen, listed)
	}
	summary := structured(t, callTool(t, c, "get_run", nil))
	if steps := fmt.Sprint(summary["next_steps"]); !strings.Contains(steps, "replay_run with run_id") || summary["scenario"] == nil {
		t.Error(steps)
	}
}

// Those of an unknown claim are nobody's doing, also where an older report blames somebody.
// Messages that prove no loss are missing, not lost. An example is of the group's library.
func TestAnomaliesThatFailNoClaim(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []string{"latest", "other"} {
		writeRun(t, filepath.Join(dir, run), map[string]string{
			"evidence/run.json": `{"format":1,"id":"` + run + `","scenario":"mqtt/broker-kill-9","seed":7}`,
			"evidence/tables.jsonl": `{"process":0,"row":{"name":"offline-1","sdk":"go/a@1"}}
{"process":1,"row":{"name":"offline-2","sdk":"python/b@1"}}
`,
			"summary.json": `{"run_id":"` + run + `","state":"INCONCLUSIVE-harness","totals":{"sent":100,"acked":100,"received":70,"lost":30}}`,
			"verdict.json": `{"state":"INCONCLUSIVE-harness","headline":"INCONCLUSIVE-harness: a driver ended","results":[{"claim":{"name":"qos1-no-loss"},"status":"unknown",
				"reasons":["the history is not complete"],"violations":[{"kind":"lost","process":0,"blame":"broker","count":10},{"kind":"lost","process":1,"blame":"broker","count":20}],"anomalies":[
				{"kind":"lost","process":0,"stream":2,"seq":1,"blame":"broker","text":"of go"},{"kind":"lost","process":1,"stream":2,"seq":2,"blame":"broker","text":"of python"}]}]}`,
			"report.json": `{"losses":{"total":30,"proven":false,"why":"qos1-no-loss is unknown: the history is not complete","ranges":[]},"violations":[
				{"claim":"qos1-no-loss","kind":"lost","client":"offline-1","blame":"broker","count":10},
				{"claim":"qos1-no-loss","kind":"lost","client":"offline-2","why":"unknown: the history is not complete","count":20}]}`,
		})
	}
	c := connectTo(t, (&host{runs: dir}).server(t, Options{}))
	whole := structured(t, callTool(t, c, "get_run", map[string]any{"view": "anomalies"}))
	got := whole["anomalies"].(map[string]any)
	if whole["summary"] != "INCONCLUSIVE-harness; 0 violations; 30 observations without a party to blame" || got["found"] != float64(0) || got["seen"] != float64(30) {
		t.Errorf("%s: %v found, %v seen", whole["summary"], got["found"], got["seen"])
	}
	want := "[map[claim:qos1-no-loss clients:[offline-1] count:10 example:map[at:2/1@offline-1 at_s:0 events:[] text:of go] from_s:0 kind:lost sdk:go/a@1 to_s:0 why:unknown] " +
		"map[claim:qos1-no-loss clients:[offline-2] count:20 example:map[at:2/2@offline-2 at_s:0 events:[] text:of python] from_s:0 kind:lost sdk:python/b@1 to_s:0 why:unknown: the history is not complete]]"
	if is := fmt.Sprint(got["groups"]); is != want {
		t.Errorf("%s\nwant %s", is, want)
	}
	if why := got["losses"].(map[string]any)["why"]; why != "qos1-no-loss is unknown: the history is not complete" {
		t.Errorf("the losses say %v", why)
	}
	for _, line := range structured(t, callTool(t, c, "get_run", map[string]any{"view": "anomalies", "detail": true}))["anomalies"].(map[string]any)["list"].([]any) {
		if line.(map[string]any)["why"] != "unknown" {
			t.Errorf("one by one: %v", line)
		}
	}
	two := structured(t, callTool(t, c, "get_run", map[string]any{"view": "anomalies", "run_id": "latest", "with": []any{"other"}}))
	if two["summary"] != "0 violations; 60 observations without a party to blame, in groups, in 2 runs, 2 of them undecided (latest, other)" {
		t.Errorf("of two runs: %s", two["summary"])
	}
	counts := structured(t, callTool(t, c, "get_run", nil))["counts"].(map[string]any)
	if counts["lost"] != nil || counts["missing"] != float64(30) {
		t.Errorf("counts are %v", counts)
	}
}

// The violations of several runs come in the groups of one: a kind, an SDK, a party.
func TestAnomaliesOfSeveralRuns(t *testing.T) {
	dir := t.TempDir()
	for i, run := range []string{"a", "b", "c"} {
		kinds := []string{"lost"}
		if i == 1 {
			kinds = append(kinds, "late")
		}
		var results, violations []string
		for _, kind := range kinds {
			results = append(results, fmt.Sprintf(`{"claim":{"name":"qos1-no-loss"},"status":"fail","anomalies":[{"kind":%q,"process":0,"stream":2,"seq":%d,"t_ns":1,"events":[1],"text":"of %s"}]}`, kind, i, run))
			violations = append(violations, fmt.Sprintf(`{"claim":"qos1-no-loss","kind":%q,"client":"offline-1","count":%d,"from_ns":%d000000000,"to_ns":9000000000}`, kind, i+1, i+1))
		}
		writeRun(t, filepath.Join(dir, run), map[string]string{
			"evidence/run.json": fmt.Sprintf(`{"format":1,"id":%q,"scenario":"mqtt/broker-kill-9","seed":7}`, run),
			"evidence/tables.jsonl": `{"process":0,"row":{"name":"offline-1","sdk":"go/a@1"}}` + "\n" +
				`{"stream":0,"row":{"producer":0,"topic":"a","qos":0}}` + "\n" + `{"stream":1,"row":{"producer":0,"topic":"b","qos":2}}` + "\n" + `{"stream":2,"row":{"producer":0,"topic":"c","qos":1}}` + "\n",
			"verdict.json": `{"state":"FAIL-once","headline":"FAIL-once: lost","results":[` + strings.Join(results, ",") + `]}`,
			"report.json":  `{"violations":[` + strings.Join(violations, ",") + `]}`,
		})
	}
	c := connectTo(t, (&host{runs: dir}).server(t, Options{}))
	got := structured(t, callTool(t, c, "get_run", map[string]any{"run_id": "a", "with": []any{"b", "c"}, "view": "anomalies"}))
	want := "[map[claim:qos1-no-loss clients:[offline-1] count:6 example:map[at:2/0@offline-1 at_s:0 events:[1] text:of a] from_s:1 kind:lost qos:map[1:3] run_ids:[a b c] sdk:go/a@1 to_s:9] " +
		"map[claim:qos1-no-loss clients:[offline-1] count:2 example:map[at:2/1@offline-1 at_s:0 events:[1] text:of b] from_s:2 kind:late qos:map[1:1] run_ids:[b] sdk:go/a@1 to_s:9]]"
	if is := fmt.Sprint(got["anomalies"].(map[string]any)["groups"]); is != want || got["summary"] != "4 violations, in groups, in 3 runs" {
		t.Errorf("%s: %s\nwant %s", got["summary"], is, want)
	}
	if r := callTool(t, c, "get_run", map[string]any{"run_id": "a", "with": []any{"x"}, "view": "anomalies"}); !r.IsError {
		t.Error(textOf(r))
	}
	if r := callTool(t, c, "get_run", map[string]any{"run_id": "a", "with": []any{"b"}, "view": "anomalies", "detail": true}); !r.IsError || !strings.Contains(textOf(r), "give the run_id of one: a, b") {
		t.Error(textOf(r))
	}
}

// A run that nobody judged shows no violation, and is not said to have none. Neither is
// one that is undecided, where there are several.
func TestAnomaliesOfRunsThatNobodyJudged(t *testing.T) {
	dir := t.TempDir()
	for run, state := range map[string]string{"held": "PASS-smoke", "starved": "INCONCLUSIVE-env", "killed": "", "going": ""} {
		files := map[string]string{"evidence/run.json": fmt.Sprintf(`{"format":1,"id":%q}`, run), "report.json": `{}`}
		if state != "" {
			files["verdict.json"] = fmt.Sprintf(`{"state":%q,"results":[{"claim":{"name":"no-panic"},"status":"pass"}]}`, state)
		}
		writeRun(t, filepath.Join(dir, run), files)
	}
	d := jobDirOf(t, campaigns.Series)
	going := newFake("going", "mqtt/kill")
	going.status.Phase = history.PhaseFault
	c := connectTo(t, (&host{runs: dir, live: []*fake{going}, jobDirs: map[string]*campaigns.JobDir{d.ID(): d}}).server(t, Options{}))
	ask := func(claim, run string, with ...string) (bool, string) {
		args := map[string]any{"run_id": run, "view": "anomalies", "with": with}
		if claim != "" {
			args["at"] = claim
		}
		r := callTool(t, c, "get_run", args)
		if r.IsError {
			return false, textOf(r)
		}
		return true, fmt.Sprint(structured(t, r)["summary"])
	}
	for _, x := range []struct {
		claim, run string
		with       []string
		answers    bool
		says       string
	}{
		{"", "held", nil, true, "PASS-smoke; 0 violations"},
		{"", "going", nil, false, "run going is in phase fault and not judged yet; get_run with its run_id waits"},
		{"", "killed", nil, false, "ended without a verdict; get_run with view journal"},
		{"", "killed", []string{"going"}, false, "none of 2 runs is judged yet"},
		{"", d.ID(), nil, false, "has no judged run yet; get_run with its run_id waits"},
		{"", "held", []string{"starved", "going"}, true, "no violation in 2 runs, 1 of them undecided (starved), 1 more not judged (going)"},
		{"no-panic", "held", []string{"starved"}, true, "no violation in 2 runs"},
		{"no-panik", "held", []string{"starved"}, false, "none of 2 runs was judged by a claim \"no-panik\"; give one of their claims in at: no-panic"},
	} {
		if ok, is := ask(x.claim, x.run, x.with...); ok != x.answers || !strings.Contains(is, x.says) {
			t.Errorf("%s of %s with %v: %s", x.claim, x.run, x.with, is)
		}
	}
}

// An answer about a run that there was costs an agent at most 1,500 tokens, whatever
// it asks to see.
func TestAnswersAreShort(t *testing.T) {
	runs := t.TempDir()
	record := filepath.Join("..", "docs", "track-record")
	dirs, err := filepath.Glob(filepath.Join(record, "*", "verdict.json"))
	if err != nil || len(dirs) < 20 {
		t.Fatalf("%d recorded runs, %v", len(dirs), err)
	}
	var most int
	c := connectTo(t, (&host{runs: runs}).server(t, Options{}))
	for _, path := range dirs {
		id := filepath.Base(filepath.Dir(path))
		files := map[string]string{}
		for _, name := range []string{"verdict.json", "report.json", "report.md"} {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
		}
		var report struct {
			Landings json.RawMessage `json:"landings"`
		}
		if err := json.Unmarshal([]byte(files["report.json"]), &report); err != nil {
			t.Fatal(err)
		}
		files["evidence/landings.json"] = fmt.Sprintf(`{"format":1,"landings":%s}`, report.Landings)
		writeRun(t, filepath.Join(runs, id), files)
		for _, args := range []string{`{}`, `{"view":"anomalies"}`, `{"view":"anomalies","detail":true}`, `{"view":"landings"}`, `{"view":"report"}`} {
			var given map[string]any
			if err := json.Unmarshal([]byte(args), &given); err != nil {
				t.Fatal(err)
			}
			given["run_id"] = id
			text, err := json.Marshal(structured(t, callTool(t, c, "get_run", given)))
			if err != nil {
				t.Fatal(err)
			}
			tokens := skills.Tokens(string(text))
			if most = max(most, tokens); tokens > 1500 {
				t.Errorf("get_run %s of %s: about %d tokens", args, id, tokens)
			}
		}
	}
	t.Logf("the longest of %d runs has about %d tokens", len(dirs), most)
}
