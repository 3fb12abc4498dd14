package publication

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/site"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
)

// A run is published with its findings and its matrix, as all runs have them. They lead to
// no run that is not there.
func TestPush(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	roots := map[string]string{}
	for _, id := range []string{"1121-0107-broker-kill-9-3f2a", "1121-0108-broker-kill-9-3f2b"} {
		s, err := reports.Finish(runtest.Run{ID: id, Lossy: true, Seconds: 12}.Record(t, filepath.Join(dir, reports.RunsDir)), runtest.Key)
		if err != nil {
			t.Fatal(err)
		}
		roots[id] = s.Root
	}
	cell := func(run string) reports.MatrixCell {
		return reports.MatrixCell{Scenario: "mqtt/broker-kill-9", SDK: "x/" + run, State: verdict.FailOnce, RunID: run, Root: roots[run], Line: "of " + dir}
	}
	m := reports.Matrix{Format: reports.MatrixFormat, ID: "1122-0300-broker-kill-9-c0de", Scenarios: []string{"mqtt/broker-kill-9"},
		Cells: []reports.MatrixCell{cell("1121-0107-broker-kill-9-3f2a"), cell("1121-0108-broker-kill-9-3f2b")}}
	if err := reports.WriteMatrix(filepath.Join(dir, reports.MatricesDir, m.ID), "../../runs", m); err != nil {
		t.Fatal(err)
	}
	ask := Ask{Runs: []string{filepath.Join(dir, reports.RunsDir, "1121-0107-broker-kill-9-3f2a")}, Destination: to, DryRun: true}
	would, err := Push(context.Background(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(to); len(left) > 0 {
		t.Fatalf("a dry run wrote %v", left)
	}
	ask.DryRun = false
	if did, err := Push(context.Background(), ask); err != nil || did.Files != would.Files {
		t.Fatalf("%d files, and %d in the dry run: %v", did.Files, would.Files, err)
	}
	pages := func() (pages []string) {
		findings, _ := filepath.Glob(filepath.Join(to, "findings", "*.md"))
		if len(findings) == 0 {
			t.Fatal("no finding is there")
		}
		for _, page := range append(findings, filepath.Join(to, "matrices", m.ID, "matrix.md")) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, string(text))
		}
		return pages
	}
	for _, text := range pages() {
		for want, is := range map[string]bool{
			"runs/1121-0107-broker-kill-9-3f2a/report.md": true, "1121-0108-broker-kill-9-3f2b": true, "runs/1121-0108-broker-kill-9-3f2b": false, dir: false,
		} {
			if strings.Contains(text, want) != is {
				t.Errorf("%q is there: %v, in %s", want, !is, text)
			}
		}
	}
	// Later the other run is published too, with a page over both: the way to the first stays.
	ask.Runs, ask.Notes = append(ask.Runs, filepath.Join(dir, reports.RunsDir, "1121-0108-broker-kill-9-3f2b")), []string{"2 of 10 runs so far"}
	if _, err := Push(context.Background(), ask); err != nil {
		t.Fatal(err)
	}
	if over, _ := filepath.Glob(filepath.Join(to, publish.OverviewsDir, "*.md")); len(over) != 1 {
		t.Errorf("overviews %v", over)
	} else if text, err := os.ReadFile(over[0]); err != nil || !strings.Contains(string(text), "\n- 2 of 10 runs so far\n") {
		t.Errorf("the page over both lacks the note: %v\n%s", err, text)
	}
	for _, text := range pages() {
		for run := range roots {
			if !strings.Contains(text, "runs/"+run+"/report.md") {
				t.Errorf("no way to run %s: %s", run, text)
			}
		}
	}
}

// A campaign is published with its runs, and the site of the copy has its page.
func TestPushOfACampaign(t *testing.T) {
	dir, to, out := t.TempDir(), t.TempDir(), t.TempDir()
	const run = "1121-0107-broker-kill-9-3f2a"
	if _, err := reports.Finish(runtest.Run{ID: run, Seconds: 1}.Record(t, filepath.Join(dir, reports.RunsDir)), runtest.Key); err != nil {
		t.Fatal(err)
	}
	search, err := campaigns.NewSearch(dir, campaigns.SearchPlan{Seed: 7, Command: "rmq-mcp campaign --state-dir " + dir}, time.Date(2026, 11, 21, 1, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if err := stored.AppendJSON(filepath.Join(search.Dir, "runs.jsonl"), campaigns.Round{N: 1, RunID: run, State: verdict.PassSmoke}); err != nil {
		t.Fatal(err)
	}
	if _, err := Push(context.Background(), Ask{Runs: []string{filepath.Join(dir, reports.RunsDir, run)}, Destination: to}); err != nil {
		t.Fatal(err)
	}
	if err := site.Write(to, out); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(out, "campaigns", search.ID()+".html"))
	if err != nil || !strings.Contains(string(page), "PASS-smoke") || !strings.Contains(string(page), "rmq-mcp campaign --state-dir STATE") {
		t.Errorf("%s, %v", page, err)
	}
}

// A finding counts no run that was changed, and a matrix says nothing else than its runs.
func TestPushOfChangedRuns(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	const good, changed = "1121-0107-broker-kill-9-3f2a", "1121-0108-broker-kill-9-3f2b"
	roots := map[string]string{}
	for _, id := range []string{good, changed} {
		s, err := reports.Finish(runtest.Run{ID: id, Lossy: true, Seconds: 12}.Record(t, filepath.Join(dir, reports.RunsDir)), runtest.Key)
		if err != nil {
			t.Fatal(err)
		}
		roots[id] = s.Root
	}
	if err := os.WriteFile(filepath.Join(dir, reports.RunsDir, changed, reports.EvidenceDir, "landings.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	m := reports.Matrix{Format: reports.MatrixFormat, ID: "1122-0300-broker-kill-9-c0de",
		Cells: []reports.MatrixCell{{Scenario: "mqtt/broker-kill-9", SDK: "a", State: verdict.PassHardening, RunID: good, Root: roots[good]}}}
	if err := reports.WriteMatrix(filepath.Join(dir, reports.MatricesDir, m.ID), "../../runs", m); err != nil {
		t.Fatal(err)
	}
	did, err := Push(context.Background(), Ask{Runs: []string{filepath.Join(dir, reports.RunsDir, good)}, Destination: to})
	if err != nil {
		t.Fatal(err)
	}
	if left := strings.Join(did.LeftOut, "\n"); !strings.Contains(left, "no finding counts run "+changed) || !strings.Contains(left, "matrix "+m.ID+": it says") {
		t.Errorf("left out: %q", left)
	}
	findings, _ := filepath.Glob(filepath.Join(to, "findings", "*"))
	if len(findings) == 0 {
		t.Error("no finding is there")
	}
	for _, page := range findings {
		if text, err := os.ReadFile(page); err != nil || strings.Contains(string(text), changed) {
			t.Errorf("%s counts a run that was changed (%v)", page, err)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "matrices")); err == nil {
		t.Error("a matrix is there that says what its run does not")
	}
}

// A stored matrix that names itself by a path is published nowhere.
func TestPushOfStrangers(t *testing.T) {
	dir := t.TempDir()
	const run = "1121-0107-broker-kill-9-3f2a"
	if _, err := reports.Finish(runtest.Run{ID: run, Lossy: true, Seconds: 12}.Record(t, filepath.Join(dir, reports.RunsDir)), runtest.Key); err != nil {
		t.Fatal(err)
	}
	m := reports.Matrix{Format: reports.MatrixFormat, ID: "../../out", Cells: []reports.MatrixCell{{Scenario: "a", SDK: "b", RunID: run}}}
	if err := reports.WriteMatrix(filepath.Join(dir, reports.MatricesDir, "m"), "../../runs", m); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "to")
	did, err := Push(context.Background(), Ask{Runs: []string{filepath.Join(dir, reports.RunsDir, run)}, Destination: to})
	if err != nil || len(did.LeftOut) != 1 || !strings.Contains(did.LeftOut[0], `it is of matrix "../../out"`) {
		t.Errorf("a matrix that leads out: %q, %v", did.LeftOut, err)
	}
	if _, err := os.Stat(filepath.Join(to, "matrices")); err == nil {
		t.Error("it was published all the same")
	}
}
