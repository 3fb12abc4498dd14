package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/campaigns/publication"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// said is what a command says on both of its outputs, and its exit code.
func said(t *testing.T, dir string, args ...string) (string, int) {
	t.Helper()
	cmd := rmq(t, dir, args...)
	cmd.Stderr = nil
	out, err := cmd.CombinedOutput()
	var code *exec.ExitError
	if err != nil && !errors.As(err, &code) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func planStatus(t *testing.T, dir string) (s plan.Status) {
	t.Helper()
	text, err := rmq(t, dir, "plan", "status", "--json").Output()
	var code *exec.ExitError
	if err != nil && !errors.As(err, &code) {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s
}

// TestPlanHalfRun is a plan from its freezing to half of its runs: its headline,
// bounds that are moved afterwards, and a verdict on a copy of the run directory
// alone.
func TestPlanHalfRun(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	dir, work := t.TempDir(), t.TempDir()
	t.Cleanup(func() { stopAll(t, dir) })
	file, scenario := filepath.Join(work, "plan.md"), filepath.Join(work, "plan_scenario.md")
	for _, name := range []string{file, scenario} {
		text, err := os.ReadFile(filepath.Join("testdata", filepath.Base(name)))
		if err != nil {
			t.Fatal(err)
		}
		write(t, name, string(text))
	}

	if out, code := said(t, dir, "plan", "headline"); code != exitHarness || !strings.Contains(out, "none is frozen") {
		t.Errorf("before it is frozen: %d %s", code, out)
	}
	if out, code := said(t, dir, "plan", file); code != 0 || !strings.Contains(out, "BLOCKED: nothing of the plan was run") {
		t.Fatalf("freeze: %d %s", code, out)
	}
	if out, code := said(t, dir, "plan", "headline"); code != 2 || !strings.HasPrefix(out, "BLOCKED") {
		t.Errorf("headline of nothing run: %d %s", code, out)
	}

	out, _ := said(t, dir, "plan", "run", "--most", "1")
	s := planStatus(t, dir)
	ran, unrun := s.Items[0], s.Items[1]
	if len(ran.Attempts) != 1 || ran.Attempts[0].Seed != 7 || len(ran.Missing) != 0 || unrun.State != verdict.NotRun || len(unrun.Missing) != 3 {
		t.Fatalf("half run: %+v\n%s", s, out)
	}
	want := verdict.OutcomeConcerns
	if ran.State.ExitCode() != 0 { // a host that is starved shows nothing
		want = verdict.OutcomeInconclusive
		t.Logf("%s", ran.Headline)
	}
	if s.Outcome != want || ran.State.ExitCode() == 1 || !strings.Contains(s.Headline, "3 attempts are NOT-RUN") || len(s.Mismatches) > 0 {
		t.Errorf("%s, want %s; mismatches %q", s.Headline, want, s.Mismatches)
	}

	placed, err := reports.Dir(filepath.Join(dir, "runs", ran.Attempts[0].RunID)).Plans()
	if err != nil || len(placed) != 1 || placed[0] != (reports.PlanPlace{Plan: s.Plan, SHA256: s.Hash, Item: "S1"}) {
		t.Errorf("the run says that it is an attempt of %v, %v", placed, err)
	}
	if out, code := said(t, dir, "verify", ran.Attempts[0].RunID); code != 0 {
		t.Errorf("verify: %d %s", code, out)
	}

	to := t.TempDir()
	published, err := publication.Push(t.Context(), publication.Ask{Runs: []string{filepath.Join(dir, "runs", ran.Attempts[0].RunID)}, Destination: to})
	if err != nil || len(published.LeftOut) > 0 {
		t.Fatalf("publish: %q, %v", published.LeftOut, err)
	}
	page, err := os.ReadFile(filepath.Join(to, "plans", s.Plan+".md"))
	if err != nil || !strings.Contains(string(page), "(../runs/"+ran.Attempts[0].RunID+"/report.md)") {
		t.Errorf("the plan's page does not lead to its run: %s, %v", page, err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "plans", s.Hash+".json")); err != nil || fmt.Sprintf("%x", sha256.Sum256(text)) != s.Hash {
		t.Errorf("the frozen plan is not there as it was frozen: %v", err)
	}

	replace(t, file, "thresholds: {recovery_s: 30, messages: 50}", "thresholds: {recovery_s: 300, messages: 50}")
	moved := "scenarios S1.model.thresholds.recovery_s: 30 → 300"
	if out, code := said(t, dir, "plan", file); code != exitHarness || !strings.Contains(out, moved) || !strings.Contains(out, "what was frozen counts") {
		t.Errorf("freeze with a moved threshold: %d %s", code, out)
	}
	replace(t, scenario, "recovery_s: 30", "recovery_s: 60")
	after := planStatus(t, dir)
	all := strings.Join(after.Mismatches, "\n")
	for _, part := range []string{moved, "S1: text of short-roundtrip: ", "S1: recovery_s: 30 → 60"} {
		if !strings.Contains(all, part) {
			t.Errorf("no %q in mismatches:\n%s", part, all)
		}
	}
	if after.Hash != s.Hash || after.Items[0].State != ran.State || after.Outcome != want {
		t.Errorf("what was frozen no longer counts: %s", after.Headline)
	}

	elsewhere := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(elsewhere, os.DirFS(filepath.Join(dir, "runs", ran.Attempts[0].RunID))); err != nil {
		t.Fatal(err)
	}
	here, _ := said(t, dir, "judge", "--json", ran.Attempts[0].RunID)
	there, code := said(t, t.TempDir(), "judge", "--json", elsewhere)
	if here != there || code != ran.State.ExitCode() || !bytes.Contains([]byte(there), []byte(ran.Attempts[0].Root)) {
		t.Errorf("judged elsewhere, %d:\n%s\nhere:\n%s", code, there, here)
	}
}

// An agent's plan is frozen in the same place, within the server's envelope.
func TestPlanOfAnAgent(t *testing.T) {
	dir := t.TempDir()
	if err := keeper.OpenState(dir); err != nil {
		t.Fatal(err)
	}
	backend, err := backendOf(dir, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	limits := envelope.Default(dir)
	limits.AllowedFaults = []string{"pause"}
	caller := keeper.Caller{Via: "mcp", Tool: "freeze_plan"}
	if _, err := backend.FreezePlan(t.Context(), plan.Example, limits, caller); err == nil || !strings.Contains(err.Error(), `fault "kill"`) {
		t.Errorf("a fault that is forbidden: %v", err)
	}
	frozen, err := backend.FreezePlan(t.Context(), plan.Example, envelope.Default(dir), caller)
	if err != nil || frozen.Outcome != verdict.OutcomeBlocked {
		t.Fatalf("%s, %v", frozen.Headline, err)
	}
	if again, err := backend.Plan(frozen.Hash[:12]); err != nil || again.Hash != frozen.Hash || !strings.Contains(again.Items[1].Call, `"seed":11`) {
		t.Errorf("%+v, %v", again, err)
	}
	if s := planStatus(t, dir); s.Hash != frozen.Hash {
		t.Errorf("from a terminal it is %s", s.Hash)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func replace(t *testing.T, path, old, now string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), old) {
		t.Fatalf("%s has no %q", path, old)
	}
	write(t, path, strings.Replace(string(text), old, now, 1))
}
