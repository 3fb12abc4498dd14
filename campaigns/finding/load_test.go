package finding

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A report that cannot be read hides no other run, and a note names it.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	for _, r := range []Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3)), storedRun("b", holding("loss"))} {
		r.Report.Scenario.Name, r.Report.Protocol, r.Report.Tier = r.Scenario, r.Protocol, r.Tier
		r.Report.Cluster.Nodes = r.Nodes
		if err := os.Mkdir(filepath.Join(dir, r.ID), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := reports.WriteJSON(filepath.Join(dir, r.ID, reports.ReportFile), r.Report); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("c/"+reports.ReportFile, `{"format": `)
	all, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := listed(all); len(got) != 1 || got[0] != "robustmq: loss, lost, by broker, smallest a 1 of 2: a 3" {
		t.Errorf("%q", got)
	}
	if len(all.Notes) != 1 || !strings.HasPrefix(all.Notes[0], "run c is left out: not readable: ") {
		t.Errorf("notes %q", all.Notes)
	}
	write(PartsFile, "# mine\nnonsense\n")
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), PartsFile+": line 2 is ") {
		t.Errorf("parts that cannot be read: %v", err)
	}
}
