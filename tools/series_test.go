package tools

import (
	"path/filepath"
	"strings"
	"testing"
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
