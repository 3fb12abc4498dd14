package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// A job that has not ended is published and shown as what it is so far.
func TestJobsThatHaveNotEnded(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []string{"run-1", "run-2"} {
		writeRun(t, filepath.Join(dir, run), map[string]string{"evidence/run.json": fmt.Sprintf(`{"format":1,"id":%q}`, run),
			"verdict.json": `{"state":"PASS-smoke","headline":"PASS-smoke"}`, "report.json": `{}`})
	}
	d := jobDirOf(t, campaigns.Replay)
	d.Job.Dir = filepath.Join(dir, "run-1")
	none := jobDirOf(t, campaigns.Series)
	h := &host{runs: dir, jobDirs: map[string]*campaigns.JobDir{d.ID(): d, none.ID(): none}}
	c := connectTo(t, h.server(t, Options{}))
	push := func(job string) string {
		return textOf(callTool(t, c, "push_report", map[string]any{"report": map[string]any{"runs": []any{job}, "title": "x"}}))
	}
	anomalies := func() string {
		return textOf(callTool(t, c, "get_run", map[string]any{"run_id": d.ID(), "view": "anomalies"}))
	}
	if text := push(none.ID()); !strings.Contains(text, "series-run-1 has no judged run yet") || len(h.pushed) > 0 {
		t.Errorf("without a run: %s, pushed %+v", text, h.pushed)
	}
	if err := stored.AppendJSON(filepath.Join(d.Dir, "trials.jsonl"), campaigns.Trial{RunID: "run-2", State: "PASS-smoke"}); err != nil {
		t.Fatal(err)
	}
	made, err := campaigns.OpenJobDir(d.Dir)
	if err != nil {
		t.Fatal(err)
	}
	d.Trials = made.Trials
	const open = "replay-run-1 has not ended: 1 of 3 runs so far"
	if text := push(d.ID()); !strings.Contains(text, "published 2 runs to /state/published; "+open) || fmt.Sprint(h.pushed[0].Notes) != "["+open+"]" {
		t.Errorf("%s, pushed %+v", text, h.pushed)
	}
	if text := anomalies(); !strings.Contains(text, "no violation in 2 runs; "+open) {
		t.Error(text)
	}
	if text := textOf(callTool(t, c, "get_run", map[string]any{"run_id": d.ID()})); !strings.Contains(text, "stopped after 1 of 3 runs") {
		t.Error(text)
	}
	r := d.SoFar()
	r.Ended = true
	if err := d.Save(r); err != nil {
		t.Fatal(err)
	}
	if text := push(d.ID()) + anomalies(); strings.Contains(text, "so far") || len(h.pushed[1].Notes) > 0 {
		t.Errorf("it has ended: %s, pushed %+v", text, h.pushed[1])
	}
}
