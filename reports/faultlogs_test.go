package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
)

// Warnings and errors around a fault are reported of each node, and any line of a target that
// has none of these. Lines without a time, and all lines after a change of a clock, are not.
func TestFaultLogs(t *testing.T) {
	dir, start := t.TempDir(), time.Date(2026, 11, 29, 6, 0, 0, 0, time.UTC)
	logs := filepath.Join(dir, EvidenceDir, LogsDir)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	at := func(s float64, text string) string {
		return start.Add(time.Duration(s*1e9)).Format(time.RFC3339Nano) + " " + text + "\n"
	}
	many := strings.Builder{}
	for i := range 20 {
		many.WriteString(at(10+float64(i)/10, fmt.Sprintf("ERROR %d", i)))
	}
	for node, text := range map[string]string{
		"node-1": at(8, " WARN early") + at(9.5, " INFO last words") + "ERROR without a time\n" + at(13.5, " WARN late"),
		"node-2": at(9.5, " INFO no target") + at(11, " WARN leader is gone") + fmt.Sprintf("%d: Error: another form\n", start.Unix()+12),
		"node-3": many.String(),
	} {
		if err := os.WriteFile(filepath.Join(logs, node+".log"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	nodes := []history.Node{{Name: "node-1"}, {Name: "node-2"}, {Name: "node-3"}}
	landing := history.Landing{Fault: "f1", Type: "kill", Nodes: []string{"node-1"}}
	landing.Times.AppliedNS, landing.Times.HealNS, landing.Times.HealedNS = 10e9, 11e9, 12e9
	read := func(landings ...history.Landing) (got []string) {
		t.Helper()
		f := newFaultLogs(&history.Run{Started: start}, landings)
		if err := readLogs(dir, nodes, f.of); err != nil {
			t.Fatal(err)
		}
		for _, l := range f.list {
			for _, line := range l.Lines {
				_, text, _ := strings.Cut(line.Text, " ")
				got = append(got, fmt.Sprintf("%s:%d %s", l.Node, line.Number, strings.TrimSpace(text)))
			}
			if l.More > 0 {
				got = append(got, fmt.Sprintf("%s: %d more", l.Node, l.More))
			}
		}
		return got
	}
	want := []string{"node-1:2 INFO last words", "node-2:2 WARN leader is gone", "node-2:3 Error: another form"}
	for i := range mostFaultLines {
		want = append(want, fmt.Sprintf("node-3:%d ERROR %d", i+1, i))
	}
	if diff := cmp.Diff(append(want, "node-3: 8 more"), read(landing)); diff != "" {
		t.Error(diff)
	}
	clock := landing
	clock.Type = "clock_jump"
	if got := read(landing, clock); len(got) > 0 {
		t.Errorf("lines by a changed clock: %q", got)
	}
}
