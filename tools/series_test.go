package tools

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns"
)

func TestSeries(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"run-1", "run-2"} {
		writeRun(t, filepath.Join(dir, id), map[string]string{
			"evidence/run.json": `{"format":1,"id":"` + id + `"}`, "summary.json": `{}`, "verdict.json": `{"state":"FAIL-once"}`})
	}
	writeRun(t, filepath.Join(dir, "run-3"), map[string]string{"evidence/run.json": `{"format":1,"id":"run-3"}`})
	c := connectTo(t, (&host{runs: dir}).server(t, Options{}))
	got := structured(t, callTool(t, c, "get_run", map[string]any{"run_id": "run-1", "with": []any{"run-2"}}))
	series, _ := got["series"].(map[string]any)
	if got["summary"] != "FAIL-reproducible: 2 runs" || series["state"] != "FAIL-reproducible" || got["verdict"] != nil {
		t.Errorf("%v", got)
	}
	r := callTool(t, c, "get_run", map[string]any{"run_id": "run-1", "with": []any{"run-3"}})
	if !r.IsError || !strings.Contains(textOf(r), "run-3 is not judged yet") {
		t.Error(textOf(r))
	}
}

// A job is judged together with other runs, and a view that is of one run is refused for
// several.
func TestSeriesOfAJobAndOtherRuns(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []string{"run-1", "run-2", "run-x"} {
		writeRun(t, filepath.Join(dir, id), map[string]string{
			"evidence/run.json": `{"format":1,"id":"` + id + `"}`, "summary.json": `{}`, "verdict.json": `{"state":"FAIL-once"}`})
	}
	d, none := jobDirOf(t, campaigns.Replay), jobDirOf(t, campaigns.Series)
	d.Job.Dir, d.Trials = filepath.Join(dir, "run-1"), []campaigns.Trial{{RunID: "run-2", State: "FAIL-once"}}
	c := connectTo(t, (&host{runs: dir, jobDirs: map[string]*campaigns.JobDir{d.ID(): d, none.ID(): none}}).server(t, Options{}))
	for _, x := range []struct {
		run, view string
		with      []any
		refuses   bool
		says      string
	}{
		{d.ID(), "summary", []any{"run-x"}, false, "FAIL-reproducible: 3 runs; replay-run-1 has not ended: 1 of 3 runs so far"},
		{"run-x", "summary", []any{d.ID()}, false, "FAIL-reproducible: 3 runs; replay-run-1 has not ended: 1 of 3 runs so far"},
		{d.ID(), "landings", nil, true, "view landings is of one run; give the run_id of one: run-1, run-2"},
		{"run-x", "report", []any{"run-1"}, true, "view report is of one run; give the run_id of one: run-x, run-1"},
		{none.ID(), "history", nil, true, "series-run-1 has no judged run yet"},
		{none.ID(), "summary", []any{none.ID()}, true, "has no judged run yet"},
	} {
		r := callTool(t, c, "get_run", map[string]any{"run_id": x.run, "view": x.view, "with": x.with})
		if r.IsError != x.refuses || !strings.Contains(textOf(r), x.says) {
			t.Errorf("%s of %s with %v: %s", x.view, x.run, x.with, textOf(r))
		}
		if !r.IsError && structured(t, r)["run_id"] != x.run {
			t.Errorf("%s of %s is of %v", x.view, x.run, structured(t, r)["run_id"])
		}
	}
}
