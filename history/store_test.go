package history_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
)

func TestRunRoundTrip(t *testing.T) {
	dir := t.TempDir()
	want := &history.Run{
		ID: "r1", Tool: "0.1.0", Started: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Scenario: "mqtt/broker-kill-9", Seed: 7,
		Cluster: history.ClusterInfo{Nodes: 3, Config: map[string]any{"a": "b"}, Promises: []string{"qos1-no-loss"}},
		Faults:  []history.PlannedFault{{Type: "kill", Target: "leader"}},
	}
	for range 2 { // the second replaces the first
		if err := history.WriteRun(dir, want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := history.ReadRun(dir)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("ReadRun: %v (-written +read):\n%s", err, diff)
	}
	files, err := os.ReadDir(dir)
	if len(files) != 1 || err != nil {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// A run of before it was written down says by its flavor what its cluster lacked.
func TestLacksOfAnOldRun(t *testing.T) {
	for text, want := range map[string]map[string]string{
		`{"format":1,"cluster":{"flavor":"external"}}`:                         history.LacksOfExternal(),
		`{"format":1,"cluster":{"flavor":"external","lacks":{"logs":"none"}}}`: {"logs": "none"},
		`{"format":1,"cluster":{"flavor":"reference"}}`:                        nil,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "run.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		run, err := history.ReadRun(dir)
		if err != nil || cmp.Diff(want, run.Cluster.Lacks) != "" {
			t.Errorf("%s: %v, %v", text, run, err)
		}
	}
}

func TestLandingsRoundTrip(t *testing.T) {
	for _, want := range [][]history.Landing{{}, {
		{Fault: "f1", Type: "kill", Nodes: []string{"node-2"}, Params: map[string]any{"duration_s": 2.5}, State: history.Landed, Healed: history.HealVerified},
		{Fault: "f2", Proofs: []history.ProofRecord{{Name: "exit", Role: history.RoleMechanism, Samples: []history.Sample{{Moment: history.During, OK: true}}}}},
	}} {
		dir := t.TempDir()
		if err := history.WriteLandings(dir, want); err != nil {
			t.Fatal(err)
		}
		got, err := history.ReadLandings(dir)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ReadLandings: %v (-written +read):\n%s", err, diff)
		}
	}
}

func TestReadingWhatIsNotOurs(t *testing.T) {
	readRun := func(dir string) error { _, err := history.ReadRun(dir); return err }
	readLandings := func(dir string) error { _, err := history.ReadLandings(dir); return err }
	openHistory := func(dir string) error { _, err := history.Open(dir); return err }
	recoverHistory := func(dir string) error { _, err := history.Recover(dir); return err }
	tests := []struct {
		name  string
		read  func(dir string) error
		files map[string]string
		want  []string
	}{
		{"no run", readRun, nil, []string{"run.json", "list runs"}},
		{"run of another format", readRun, map[string]string{"run.json": `{"format":9,"tool":"7.0.0"}`}, []string{"run.json", "format 9", "7.0.0", "use that version"}},
		{"run cut", readRun, map[string]string{"run.json": `{"format":1,"to`}, []string{"run.json", "verify"}},
		{"no landings", readLandings, nil, []string{"landings.json", "list runs"}},
		{"landings of another format", readLandings, map[string]string{"landings.json": `{"format":2}`}, []string{"format 2", "run.json"}},
		{"no history", openHistory, nil, []string{"tables.jsonl", "list runs"}},
		{"no events", openHistory, map[string]string{"tables.jsonl": ""}, []string{"history.arrow", "list runs"}},
		{"text", openHistory, map[string]string{"tables.jsonl": "", "history.arrow": "hello world"}, []string{"history.arrow", "not a history", "evidence directory"}},
		{"another row", openHistory, map[string]string{"tables.jsonl": `{"node":1,"row":{}}` + "\n", "history.arrow": ""}, []string{"tables.jsonl", "line 1", "row 0 is due", "verify"}},
		{"no row", openHistory, map[string]string{"tables.jsonl": "{}\n", "history.arrow": ""}, []string{"tables.jsonl", "line 1", "verify"}},
		{"recover nothing", recoverHistory, nil, []string{"history.arrow", "list runs"}},
		{"recover text", recoverHistory, map[string]string{"history.arrow": "hello world", "tables.jsonl": ""}, []string{"history.arrow", "nothing was done"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := test.read(dir)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v: does not say %q", err, want)
				}
			}
		})
	}
}

func TestWindows(t *testing.T) {
	landings := []history.Landing{
		{Fault: "f2", Times: history.LandingTimes{AppliedNS: 20, HealNS: 25, HealedNS: 30}},
		{Fault: "f1", Times: history.LandingTimes{AppliedNS: 10, HealNS: 12}},
		{Fault: "f3", Times: history.LandingTimes{PlannedNS: 40}},
	}
	want := []history.Window{{Fault: "f1", Start: 10, End: 1<<63 - 1}, {Fault: "f2", Start: 20, End: 30}}
	got := history.Windows(landings)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestClock(t *testing.T) {
	before := history.MonotonicNow()
	clock := history.NewClock()
	after := history.MonotonicNow()
	if at := clock.At(before); at > 0 {
		t.Errorf("the clock started %v before it was made", at)
	}
	if at := clock.At(after); at < 0 {
		t.Errorf("the clock started %v after it was made", -at)
	}
	if a, b := clock.Now(), clock.Now(); a < 0 || b < a {
		t.Errorf("now is %v, then %v", a, b)
	}
}

func TestNames(t *testing.T) {
	for want, got := range map[string]string{
		"observe":     history.KindObserve.String(),
		"200":         history.Kind(200).String(),
		"return":      history.Return.String(),
		"native":      history.ViaNative.String(),
		"info":        history.Info.String(),
		"dup|foreign": (history.FlagDup | history.FlagForeign).String(),
		"":            history.Flags(0).String(),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
