package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The losses, with subscriber and time, are answered whole. Examples come in
// pages.
func TestAnomaliesSayWhoLostWhatAndWhen(t *testing.T) {
	dir := t.TempDir()
	var examples []string
	for i := range anomalyPage + 1 {
		examples = append(examples, fmt.Sprintf(`{"kind":"lost","stream":2,"seq":%d,"t_ns":1500000000,"events":[1,2],"text":"message %d"}`, i, i))
	}
	writeRun(t, filepath.Join(dir, "latest"), map[string]string{
		"evidence/run.json": `{"format":1,"id":"latest","scenario":"mqtt/broker-kill-9","seed":7}`,
		"verdict.json": `{"state":"FAIL-once","headline":"FAIL-once: lost","results":[{"claim":{"name":"qos1-no-loss"},"anomalies":[` +
			strings.Join(examples, ",") + `]}]}`,
		"report.json": `{"losses":{"total":30,"proven":true,"listed":30,"ranges":[
			{"subscriber":"offline-1","group":"offline","topic":"a","first_seq":0,"last_seq":19,"published_from_ns":1000000000,"published_to_ns":3000000000},
			{"subscriber":"offline-1","group":"offline","topic":"b","first_seq":5,"last_seq":9,"published_from_ns":500000000,"published_to_ns":2000000000},
			{"subscriber":"paused-1","group":"paused","topic":"a","first_seq":0,"last_seq":4,"published_from_ns":1000000000,"published_to_ns":1000000000}]},
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
	if len(view["list"].([]any)) != anomalyPage || view["next"] != float64(anomalyPage) {
		t.Errorf("%d examples, next %v", len(view["list"].([]any)), view["next"])
	}
	if steps := fmt.Sprint(got["next_steps"]); !strings.Contains(steps, `at "2/0"`) || !strings.Contains(steps, "after 25") {
		t.Error(steps)
	}
	if got["verdict"] != nil {
		t.Error("a view repeats the whole verdict")
	}
	page := structured(t, callTool(t, c, "get_run", map[string]any{"view": "anomalies", "after": 25}))["anomalies"].(map[string]any)
	if len(page["list"].([]any)) != 1 || page["next"] != nil || page["losses"] != nil {
		t.Errorf("%v", page)
	}
	summary := structured(t, callTool(t, c, "get_run", nil))
	if steps := fmt.Sprint(summary["next_steps"]); !strings.Contains(steps, "replay_run with run_id") {
		t.Error(steps)
	}
}
