package plan

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/reports"
)

func freezeIn(t *testing.T, stateDir, text string, limits *envelope.Envelope) (*Record, error) {
	t.Helper()
	return SiteOf("", limits).Freeze(t.Context(), stateDir, []byte(text), "", keeper.Caller{Via: "test"})
}

func frozen(t *testing.T, stateDir string) *Record {
	t.Helper()
	r, err := freezeIn(t, stateDir, Example, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFreezeOnce(t *testing.T) {
	dir := t.TempDir()
	r := frozen(t, dir)
	again := frozen(t, dir)
	if again.Hash != r.Hash || !again.At.Equal(r.At) {
		t.Errorf("frozen twice: %s at %s, %s at %s", r.Hash, r.At, again.Hash, again.At)
	}
	// how it is written is no part of it
	reworded, err := freezeIn(t, dir, strings.Replace(Example, "claims: [qos1-no-loss, recovery] ", "claims:\n  - qos1-no-loss\n  - recovery ", 1), nil)
	if err != nil || reworded.Hash != r.Hash {
		t.Errorf("%v, %v", reworded, err)
	}
	for _, ref := range []string{"latest", "leader-crash", r.Hash, r.Hash[:8]} {
		if found, err := Find(dir, ref); err != nil || found.Hash != r.Hash {
			t.Errorf("find %s: %v", ref, err)
		}
	}
	if _, err := Find(dir, "nope"); err == nil || !strings.Contains(err.Error(), "leader-crash") {
		t.Errorf("find nope: %v", err)
	}
	other := t.TempDir()
	if elsewhere := frozen(t, other); elsewhere.Hash != r.Hash {
		t.Errorf("the same plan is %s there and %s here", elsewhere.Hash, r.Hash)
	}
}

// A change under the name of a frozen plan is reported with the old and the new
// value, and the frozen plan stays.
func TestMismatch(t *testing.T) {
	dir := t.TempDir()
	r := frozen(t, dir)
	for _, test := range []struct{ old, new, want string }{
		{"recovery_s: 30", "recovery_s: 300", "scenarios S2.model.thresholds.recovery_s: 30 → 300"},
		{"seeds: [11, 12, 13]", "seeds: [11, 12, 14]", "scenarios S2.model.seeds 3: 13 → 14"},
		{"what: power loss", "what: floods", `not_covered 1.what: "power loss" → "floods"`},
		{"  - id: H2\n", "  - id: H3\n", `hypotheses H2.id: "H2" → nothing`},
		{"What a person", "What no person", "prose: "},
	} {
		_, err := freezeIn(t, dir, strings.Replace(Example, test.old, test.new, 1), nil)
		var mismatch *Mismatch
		if !errors.As(err, &mismatch) || !strings.Contains(err.Error(), test.want) || mismatch.Record.Hash != r.Hash {
			t.Errorf("%s: %v, want %q", test.new, err, test.want)
		}
	}
	if all, err := All(dir); err != nil || len(all) != 1 {
		t.Errorf("%d plans, %v", len(all), err)
	}
}

// A frozen plan whose file is gone or damaged has no status, and holds up no other plan.
func TestAPlanThatCannotBeRead(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"gone": os.Remove,
		"cut":  func(path string) error { return os.Truncate(path, 20) },
	} {
		dir := t.TempDir()
		bad := frozen(t, dir)
		whole, err := freezeIn(t, dir, strings.Replace(Example, "name: leader-crash", "name: other-crash", 1), nil)
		if err == nil {
			err = damage(filepath.Join(dir, plansDir, bad.Hash+".json"))
		}
		if err != nil {
			t.Fatal(err)
		}
		all, err := All(dir)
		if err != nil || len(all) != 2 || all[0].Damaged == nil || all[0].Plan.Name != "leader-crash" || all[1].Damaged != nil {
			t.Fatalf("%s: %+v, %v", name, all, err)
		}
		if _, err := all[0].Look(dir); err == nil {
			t.Errorf("%s: it has a status", name)
		}
		for _, ref := range []string{"latest", "other-crash", whole.Hash[:8]} {
			if r, err := Find(dir, ref); err != nil || r.Hash != whole.Hash {
				t.Errorf("%s: find %s: %v", name, ref, err)
			}
		}
		for _, ref := range []string{"leader-crash", bad.Hash[:8]} {
			if _, err := Find(dir, ref); err == nil || !strings.Contains(err.Error(), "read frozen plan leader-crash") || !strings.Contains(err.Error(), "restore") {
				t.Errorf("%s: find %s: %v", name, ref, err)
			}
		}
		if r, err := freezeIn(t, dir, Example, nil); err == nil || !strings.Contains(err.Error(), "restore") {
			t.Errorf("%s: frozen once more: %v, %v", name, r, err)
		}
		if _, err := freezeIn(t, dir, strings.Replace(Example, "name: leader-crash", "name: third-crash", 1), nil); err != nil {
			t.Errorf("%s: a third is not frozen: %v", name, err)
		}
		run := attempt(whole, "S1", 7, "").Record
		runDir := filepath.Join(dir, reports.RunsDir, run.ID)
		evidence := reports.Dir(runDir).Evidence()
		if err := errors.Join(os.MkdirAll(evidence, 0o755), history.WriteRun(evidence, run), Place(t.Context(), dir, runDir)); err != nil {
			t.Fatal(err)
		}
		if places, err := reports.Dir(runDir).Plans(); err != nil || len(places) == 0 || places[0].SHA256 != whole.Hash {
			t.Errorf("%s: a run is an attempt of %v, %v", name, places, err)
		}
	}
}

func TestFrozenFileIsWhatItsNameSays(t *testing.T) {
	dir := t.TempDir()
	r := frozen(t, dir)
	path := filepath.Join(dir, plansDir, r.Hash+".json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"recovery_s": 30`, `"recovery_s": 99`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(dir, "latest"); err == nil || !strings.Contains(err.Error(), "is not what was frozen") {
		t.Errorf("%v", err)
	}
}
