package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A summary of any bytes is one row of a list, on one line and of the run whose
// directory it lies in.
func FuzzSummary(f *testing.F) {
	f.Add([]byte(`{"run_id":"r1","scenario":"mqtt/broker-kill-9","state":"PASS-smoke","headline":"PASS-smoke: nothing","started":"2026-11-21T01:07:00Z","totals":{}}`))
	f.Add([]byte(`{"run_id":"../../x","headline":"\u001b[2J\n"}`))
	f.Add([]byte(`{"run_id":"r1","started":"yesterday","nodes":1e99}`))
	f.Fuzz(func(t *testing.T, summary []byte) {
		stateDir := t.TempDir()
		run := filepath.Join(stateDir, RunsDir, "r1")
		must(t, os.MkdirAll(run, 0o755))
		must(t, os.WriteFile(filepath.Join(run, SummaryFile), summary, 0o644))
		rows, err := List(stateDir, Filter{})
		if err != nil || len(rows) != 1 || rows[0].ID != "r1" {
			t.Fatalf("%+v, %v", rows, err)
		}
		r := rows[0]
		if text := r.Scenario + r.SDK + r.Flavor + r.Version + string(r.State) + r.Headline + r.Root; strings.ContainsAny(text, "\n\t\r\x1b\u009b") {
			t.Fatalf("it is more than one line: %q", text)
		}
	})
}
