package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
)

func TestDashboard(t *testing.T) {
	stateDir := t.TempDir()
	runs := filepath.Join(stateDir, RunsDir)
	lossy := runtest.Run{ID: "1121-0107-broker-kill-9-3f2a", Lossy: true, Seconds: 12}.Record(t, runs)
	healthy := runtest.Run{ID: "1121-0110-broker-kill-9-77aa"}.Record(t, runs)
	runtest.Run{ID: "1121-0120-broker-kill-9-0b0b", Open: true, Seconds: 1}.Record(t, runs)
	for _, dir := range []string{lossy, healthy} {
		_, err := Finish(dir, runtest.Key)
		must(t, err)
	}
	_, err := AddWords(lossy, Words{Title: "Sessions are gone after a kill", Problem: "<img src=x onerror=alert(1)> everything before the kill is lost", CodePaths: []string{"src/persist.c"}, ProposedSeverity: "P0"})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(lossy, StatusFile), []byte(`{"status":"fixed","version":"v2.1.0","url":"https://example.org/42"}`), 0o644))
	out := os.Getenv("RMQ_TEST_DASHBOARD")
	if out == "" {
		out = t.TempDir()
	}
	must(t, Dashboard(stateDir, out))
	must(t, Dashboard(stateDir, out)) // over itself

	index := read(t, filepath.Join(out, "index.html"))
	for _, want := range []string{
		`href="runs/1121-0107-broker-kill-9-3f2a/index.html"`, `data-protocol="mqtt3" data-status="fail"`, `data-status="pass"`,
		"fixed in v2.1.0", "unfinished", "PASS-smoke",
	} {
		if !strings.Contains(index, want) {
			t.Errorf("the list does not hold %q", want)
		}
	}
	page := read(t, filepath.Join(out, RunsDir, filepath.Base(lossy), "index.html"))
	for _, want := range []string{"<table>", `src="timeline.svg"`, `href="evidence/logs/node-1.log"`, "fixed in v2.1.0", "Sessions are gone"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	for name, text := range map[string]string{"list": index, "page": page} {
		if strings.Contains(text, "<img src=x") || strings.Contains(text, `src="http`) || strings.Contains(text, `<link`) {
			t.Errorf("the %s obeys markup of others, or loads something from elsewhere", name)
		}
	}
	for _, name := range []string{"timeline.svg", "report.json", "evidence/logs/node-1.log"} {
		if _, err := os.Stat(filepath.Join(out, RunsDir, filepath.Base(lossy), name)); err != nil {
			t.Errorf("the page links to nothing: %v", err)
		}
	}
}

func TestDashboardOfNothing(t *testing.T) {
	out := t.TempDir()
	must(t, Dashboard(t.TempDir(), out))
	if index := read(t, filepath.Join(out, "index.html")); !strings.Contains(index, "No run yet") {
		t.Error("an empty list says nothing")
	}
}
