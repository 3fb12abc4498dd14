package finding

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// The pages say what the findings are, and no run can say more on them than text.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	wild := storedRun("a", failing("loss", "lost", verdict.Broker, 3), func(r *Run) { r.Tier = "`smoke`\n# x" })
	wild.Report.Verdict.Results[0].Anomalies[0].Text = "<img src=x> | lost ![x](http://example.com)"
	all := Make([]Run{wild, storedRun("bb", holding("loss"))}, nil)
	if err := Write(dir, "../my runs", all); err != nil {
		t.Fatal(err)
	}
	id := all.Findings[0].ID
	page, list := text(t, dir, id+".md"), text(t, dir, ListFile)
	for _, want := range []string{
		"# robustmq: loss, lost\n", "**P1, blamed on: broker. In 1 of 1 runs", "run [a](../my%20runs/a/report.md):\n\n    rmq-mcp run mqtt/broker-kill-9 --tier a\n",
		"| robustmq 0.4.11 | 3 | `go/x@1` | mqtt3 | smoke |  | 0 of 1 |", "The library's scenario of this name has changed since that run; ",
		"| [a](../my%20runs/a/report.md) | `mqtt/broker-kill-9` | robustmq 0.4.11 | `go/x@1` | 3 | `<img src=x> \\| lost ![x](http://example.com)` | `root of a` |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
	if want := "| [robustmq: `loss`](" + id + ".md) | P1 | broker | lost | 1 | `mqtt/broker-kill-9` | 1 of 1 | 2026-11-26 |"; !strings.Contains(list, want) {
		t.Errorf("%q is not in\n%s", want, list)
	}
	var again Finding
	if err := json.Unmarshal([]byte(text(t, dir, id+".json")), &again); err != nil || again.ID != id || len(again.Runs) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
}

// Writing again removes the pages of findings that are no more, and no file of anybody else.
func TestWriteAgain(t *testing.T) {
	dir := t.TempDir()
	first := Make([]Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3))}, nil)
	if err := Write(dir, "runs", first); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mine.md"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, "runs", Make(nil, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, first.Findings[0].ID+".md")); err == nil || text(t, dir, "mine.md") != "mine" {
		t.Error("a page of before stayed, or one of somebody else went")
	}
	if got := text(t, dir, AllFile); !strings.Contains(got, `"findings": []`) {
		t.Error(got)
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, ListFile), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(other, "runs", first); err == nil || !strings.Contains(err.Error(), "not of findings") || text(t, other, ListFile) != "mine" {
		t.Errorf("a page of somebody else was overwritten: %v", err)
	}
}

func text(t *testing.T, dir, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
