package tools

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// The runs that fit are listed, the newest first, and the others counted.
func TestListRuns(t *testing.T) {
	h := &host{}
	for i := range 100 {
		h.rows = append(h.rows, reports.Row{ID: fmt.Sprintf("run-%d", i), Scenario: "mqtt/kill", State: verdict.FailOnce, Started: time.Unix(1, 5),
			Headline: "FAIL-once: " + strings.Repeat("messages are gone ", 30)})
	}
	h.rows[0].Headline, h.rows[0].State = "", reports.Unfinished
	c := connectTo(t, h.server(t, Options{}))
	got := structured(t, callTool(t, c, "list_runs", map[string]any{"state": "FAIL", "scenario": "mqtt/kill", "limit": 50}))
	runs := got["runs"].([]any)
	if left := int(got["left_out"].(float64)); len(runs) < 10 || len(runs)+left != 100 || got["summary"] != "100 runs" {
		t.Errorf("%d runs, %d left out: %v", len(runs), left, got["summary"])
	}
	first := runs[0].(map[string]any)
	if first["run_id"] != "run-0" || first["headline"] != "unfinished" || first["started"] != "1970-01-01T00:00:01Z" {
		t.Errorf("%v", first)
	}
	if h.filtered != (reports.Filter{State: "FAIL", Scenario: "mqtt/kill"}) {
		t.Errorf("asked for %+v", h.filtered)
	}
	h.rows = nil
	for summary, args := range map[string]map[string]any{"no run is stored": nil, "no such run": {"state": "FAIL"}} {
		if none := structured(t, callTool(t, c, "list_runs", args)); none["summary"] != summary {
			t.Errorf("%v, not %s", none, summary)
		}
	}
}

func TestBrokerLine(t *testing.T) {
	for want, c := range map[string]history.ClusterInfo{
		"":                         {},
		"mosquitto 2.0.18, 1 node": {Flavor: "mosquitto", Version: "2.0.18", Nodes: 1},
		"robustmq 0.4.11, 3 nodes, profile tested, 2 settings unlike the vendor's default": {Flavor: "robustmq", Version: "0.4.11", Nodes: 3, Profile: "tested", Differs: map[string]string{"a": "1 → 2", "b": "1 → 2"}},
		"reference 2.15.2, 3 nodes, planted reorder/25":                                    {Flavor: "reference", Version: "2.15.2", Nodes: 3, Planted: "reorder/25"},
	} {
		if got := brokerLine(c); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
