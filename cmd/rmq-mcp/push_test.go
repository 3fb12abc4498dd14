package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
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

// A stored matrix that names itself by a path is published nowhere, and neither is a finding
// that would tell the addresses of somebody else's broker.
func TestPushBesideOfStrangers(t *testing.T) {
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
	_, err := pushReport(context.Background(), tools.Publication{Runs: []string{filepath.Join(dir, reports.RunsDir, run)}, Destination: to})
	if err == nil || !strings.Contains(err.Error(), `it is of matrix "../../out"`) {
		t.Errorf("a matrix that leads out: %v", err)
	}
	if _, err := os.Stat(to); !os.IsNotExist(err) {
		t.Error("something was published all the same")
	}
	own := finding.Finding{Runs: []finding.RunLine{{Broker: "robustmq 0.4.11"}}}
	other := finding.Finding{Runs: own.Runs, Seen: []finding.Seen{{Setup: finding.Setup{Broker: "external broker 127.0.0.1:1883"}}}}
	if named(own) || !named(other) {
		t.Error("the addresses of somebody else's broker are not told from others")
	}
}
