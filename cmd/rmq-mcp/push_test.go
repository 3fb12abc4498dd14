package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/tools"
)

// A run is published with its findings and its matrix, as all runs have them. They lead to
// no run that is not there.
func TestPushBeside(t *testing.T) {
	dir, to := t.TempDir(), t.TempDir()
	for _, id := range []string{"1121-0107-broker-kill-9-3f2a", "1121-0108-broker-kill-9-3f2b"} {
		if _, err := reports.Finish(runtest.Run{ID: id, Lossy: true, Seconds: 12}.Record(t, filepath.Join(dir, reports.RunsDir)), runtest.Key); err != nil {
			t.Fatal(err)
		}
	}
	cell := func(run string) reports.MatrixCell {
		return reports.MatrixCell{Scenario: "mqtt/broker-kill-9", SDK: "x/" + run, State: verdict.FailOnce, RunID: run, Line: "of " + dir}
	}
	m := reports.Matrix{Format: reports.MatrixFormat, ID: "1122-0300-broker-kill-9-c0de", Scenarios: []string{"mqtt/broker-kill-9"},
		Cells: []reports.MatrixCell{cell("1121-0107-broker-kill-9-3f2a"), cell("1121-0108-broker-kill-9-3f2b")}}
	if err := reports.WriteMatrix(filepath.Join(dir, reports.MatricesDir, m.ID), "../../runs", m); err != nil {
		t.Fatal(err)
	}
	ask := tools.Publication{Runs: []string{filepath.Join(dir, reports.RunsDir, "1121-0107-broker-kill-9-3f2a")}, Destination: to, DryRun: true}
	would, err := pushReport(context.Background(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(to); len(left) > 0 {
		t.Fatalf("a dry run wrote %v", left)
	}
	ask.DryRun = false
	if did, err := pushReport(context.Background(), ask); err != nil || did.Files != would.Files {
		t.Fatalf("%d files, and %d in the dry run: %v", did.Files, would.Files, err)
	}
	findings, _ := filepath.Glob(filepath.Join(to, "findings", "*.md"))
	if len(findings) == 0 {
		t.Fatal("no finding is there")
	}
	for _, page := range append(findings, filepath.Join(to, "matrices", m.ID, "matrix.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for want, is := range map[string]bool{
			"runs/1121-0107-broker-kill-9-3f2a/report.md": true, "1121-0108-broker-kill-9-3f2b": true, "runs/1121-0108-broker-kill-9-3f2b": false, dir: false,
		} {
			if strings.Contains(string(text), want) != is {
				t.Errorf("%s: %q is there: %v", page, want, !is)
			}
		}
	}
}
