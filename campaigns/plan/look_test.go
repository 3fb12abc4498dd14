package plan

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A run that was an attempt cannot be made none by deleting it, or by changing
// what it says of itself.
func TestGone(t *testing.T) {
	dir := t.TempDir()
	r := frozen(t, dir)
	run := attempt(r, "S1", 7, "").Record
	runDir := filepath.Join(dir, reports.RunsDir, run.ID)
	save := func() {
		t.Helper()
		evidence := reports.Dir(runDir).Evidence()
		if err := errors.Join(os.MkdirAll(evidence, 0o755), history.WriteRun(evidence, run)); err != nil {
			t.Fatal(err)
		}
	}
	look := func() Status {
		t.Helper()
		s, err := r.Look(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	save()
	unlock := kept(t, dir, run.ID)
	if err := Place(t.Context(), dir, runDir); err != nil {
		t.Fatal(err)
	}
	if s := look(); len(s.Items[0].Running) != 1 || len(s.Mismatches) > 0 {
		t.Errorf("while it lasts: %+v", s)
	}
	if places, err := reports.Dir(runDir).Plans(); err != nil || len(places) != 1 || places[0].SHA256 != r.Hash || places[0].Item != "S1" {
		t.Errorf("places %v, %v", places, err)
	}
	unlock()
	if s := look(); len(s.Items[0].Running) > 0 || len(s.Mismatches) != 1 || !strings.Contains(s.Mismatches[0], "S1: run S1-h is no attempt: ") || !strings.Contains(s.Mismatches[0], "it is not sealed") {
		t.Errorf("when its keeper is dead: %v, %q", s.Items[0].Running, s.Mismatches)
	}
	run.SDK = "python/paho-mqtt@2.1.0"
	save()
	if s := look(); len(s.Mismatches) != 1 || !strings.Contains(s.Mismatches[0], "S1: run S1-h was an attempt when it ended, and its record now says something else") {
		t.Errorf("changed: %q", s.Mismatches)
	}
	if err := os.RemoveAll(runDir); err != nil {
		t.Fatal(err)
	}
	if s := look(); len(s.Mismatches) != 1 || !strings.Contains(s.Mismatches[0], "its record is gone") {
		t.Errorf("deleted: %q", s.Mismatches)
	}
}

// kept has a run be one whose guard lives.
func kept(t *testing.T, stateDir, id string) (unlock func()) {
	t.Helper()
	live := filepath.Join(stateDir, "live")
	lock := flock.New(filepath.Join(live, id+".lock"))
	if err := errors.Join(os.MkdirAll(live, 0o755), lock.Lock()); err != nil {
		t.Fatal(err)
	}
	return func() { lock.Unlock() }
}

// An attempt that was sealed counts, even if somebody deletes or damages what was
// written about it.
func TestWithoutSummary(t *testing.T) {
	dir := t.TempDir()
	r := frozen(t, dir)
	run := attempt(r, "S1", 7, "").Record
	runDir := runtest.Run{ID: run.ID, Lossy: true}.Record(t, filepath.Join(dir, reports.RunsDir))
	if err := history.WriteRun(reports.Dir(runDir).Evidence(), run); err != nil {
		t.Fatal(err)
	}
	if _, err := reports.Finish(runDir, runtest.Key); err != nil {
		t.Fatal(err)
	}
	summary := filepath.Join(runDir, reports.SummaryFile)
	for _, test := range []struct {
		name   string
		damage func() error
	}{
		{"whole", func() error { return nil }},
		{"cut", func() error { return os.Truncate(summary, 20) }},
		{"deleted", func() error { return os.Remove(summary) }},
	} {
		if err := test.damage(); err != nil {
			t.Fatal(err)
		}
		s, err := r.Look(dir)
		if err != nil {
			t.Fatal(err)
		}
		if it := s.Items[0]; len(it.Attempts) != 1 || len(it.Running) > 0 || len(s.Mismatches) > 0 {
			t.Errorf("%s: attempts %v, running %v, mismatches %q", test.name, it.Attempts, it.Running, s.Mismatches)
		}
	}
}

// A change of a plan's file or of a scenario beside it is reported. The frozen
// text still counts.
func TestMoved(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	save := func(name, text string) string {
		t.Helper()
		path := filepath.Join(work, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	library, err := scenarios.Load("mqtt/qos-roundtrip")
	if err != nil {
		t.Fatal(err)
	}
	save("mine.md", library.Text)
	text := strings.Replace(Example, "scenario: mqtt/qos-roundtrip ", "scenario: mine.md ", 1)
	file := save("plan.md", text)
	r, err := SiteOf(file, nil).Freeze(t.Context(), dir, []byte(text), file, keeper.Caller{Via: "test"})
	if err != nil || len(r.moved()) > 0 {
		t.Fatalf("%v, %v", r, err)
	}
	older := *r // of a version that asked for more messages by the same text
	older.Items = slices.Clone(r.Items)
	older.Items[0].Budget.Messages++
	if moved := strings.Join(older.moved(), "\n"); !strings.HasPrefix(moved, "S1: messages: ") {
		t.Errorf("the same text with another budget: %q", moved)
	}
	save("mine.md", strings.Replace(library.Text, "recovery_s: 20", "recovery_s: 200", 1))
	save("plan.md", strings.Replace(text, "runs: 6", "runs: 60", 1))
	moved := strings.Join(r.moved(), "\n")
	for _, want := range []string{"S1: text of mqtt/qos-roundtrip: " + short(library.SHA) + " → ", "S1: recovery_s: 20 → 200", "budget.runs: 6 → 60"} {
		if !strings.Contains(moved, want) {
			t.Errorf("no %q in %q", want, moved)
		}
	}
	path, err := r.Scenario(dir, &r.Items[0])
	if err != nil {
		t.Fatal(err)
	}
	if s, err := scenarios.Load(path); err != nil || s.SHA != library.SHA {
		t.Errorf("what would be run is not what was frozen: %s, %v", path, err)
	}
	save("mine.md", "gone")
	if _, err := SiteOf(file, nil).Freeze(t.Context(), dir, []byte(text), file, keeper.Caller{Via: "test"}); err != nil {
		t.Errorf("a scenario that cannot be read any more: %v", err)
	}
}
