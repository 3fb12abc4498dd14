package tools

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/reports"
)

func TestCompareRuns(t *testing.T) {
	long := strings.Repeat("the broker acknowledged and forgot ", 50)
	many := campaigns.Comparison{Headline: "0 of 40 runs pass; 40 deviations: 40 undecided"}
	for i := range 40 {
		many.Attributions = append(many.Attributions, reports.Attribution{
			Cause: reports.CauseUndecided, Suspect: reports.CauseBroker, Claims: []string{"qos1-no-loss", "qos2-no-loss"}, Source: "MQTT 3.1.1 section 4.3.2",
			Versions: fmt.Sprintf("go/paho.mqtt.golang 1.%d", i), Text: long, Evidence: []string{long, long, long}, Runs: strings.Fields(strings.Repeat("1122-0234-qos-roundtrip-238c ", 9)),
			Next: []reports.Step{{Why: "the wire tells", Call: `run_scenario(scenario:"mqtt/qos-roundtrip", config:{flavor:"robustmq",arm:["tap"]}, sdks:["go/paho.mqtt.golang@1.5.1"], protocol:"mqtt3", seed:1810743008, tier:"smoke")`}},
		})
	}
	many.Table.Rows = []reports.TableRow{{Claim: "qos1-no-loss", Failed: 9, Of: 9, Runs: strings.Fields(strings.Repeat("run-1 ", 9))}}
	many.Notes = []string{long, long, long, long, long}
	dir := t.TempDir()
	for _, id := range []string{"run-1", "run-2"} {
		writeRun(t, filepath.Join(dir, id), map[string]string{
			"evidence/run.json": `{"format":1,"id":"` + id + `"}`, "summary.json": `{}`, "verdict.json": `{"state":"FAIL-once"}`})
	}
	c := connectTo(t, (&host{runs: dir, compared: many}).server(t, Options{}))
	got := structured(t, callTool(t, c, "compare_runs", map[string]any{"run_ids": []any{"run-1", "run-2"}}))
	text, _ := json.Marshal(got)
	if len(text) > 8000 {
		t.Errorf("%d bytes are more than 2,000 tokens", len(text))
	}
	lines, _ := got["attributions"].([]any)
	if left, _ := got["left_out"].(float64); len(lines) == 0 || len(lines)+int(left) != 40 || !strings.Contains(string(text), "make the calls in decides") {
		t.Errorf("%s", text)
	}
	for _, want := range []string{"… 5 more", "… 6 more"} { // runs of an attribution, and of a row
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	for _, bad := range []struct {
		runs []any
		says string
	}{
		{[]any{"run-1"}, "two or more"},
		{[]any{"run-1", "nope"}, "no run"},
	} {
		r := callTool(t, c, "compare_runs", map[string]any{"run_ids": bad.runs})
		if !r.IsError || !strings.Contains(textOf(r), bad.says) {
			t.Errorf("%v: %s", bad.runs, textOf(r))
		}
	}
}
