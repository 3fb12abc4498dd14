package publish

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
)

var wantFiles = []string{
	"SEAL", "evidence/history.arrow", "evidence/journal.jsonl", "evidence/landings.json", "evidence/logs/node-1.log", "notes.jsonl",
	"report.json", "report.md", "timeline.svg", "verdict.json",
}

func finished(t testing.TB, x runtest.Run) (string, *reports.Summary) {
	t.Helper()
	dir := x.Record(t, t.TempDir())
	s, err := reports.Finish(dir, runtest.Key)
	must(t, err)
	return dir, s
}

func read(t testing.TB, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	return string(content)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestPushToADirectory(t *testing.T) {
	dir, s := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	to := filepath.Join(t.TempDir(), "reports")
	pushed, err := Push(t.Context(), []string{dir}, Destination(to), reports.Words{Title: "It forgets", Analysis: "persistence is off"}, nil)
	must(t, err)
	copied := filepath.Join(to, reports.RunsDir, s.ID)
	for _, name := range wantFiles {
		if !slices.Contains(pushed.Paths, "runs/"+s.ID+"/"+name) {
			t.Errorf("%s is not in %q", name, pushed.Paths)
		}
	}
	if page := "runs/" + s.ID + "/report.md"; !slices.Equal(pushed.Pages, []string{page}) || pushed.Bytes < int64(len(read(t, filepath.Join(to, page)))) {
		t.Errorf("the page is %q, of %d bytes in all", pushed.Pages, pushed.Bytes)
	}
	if text := read(t, filepath.Join(copied, reports.MarkdownFile)); !strings.Contains(text, "> Analysis: persistence is off") {
		t.Error("the published report does not quote the agent")
	}
	if _, err := reports.Verify(copied); err != nil {
		t.Errorf("the published copy: %v", err)
	}
	rows, err := reports.List(to, reports.Filter{})
	if err != nil || len(rows) != 1 || rows[0].Root != s.Root {
		t.Errorf("the published copy lists %+v, %v", rows, err)
	}
}

func TestPushRefusesWhatWasChanged(t *testing.T) {
	dir, _ := finished(t, runtest.Run{Seconds: 1})
	verdict := filepath.Join(dir, reports.VerdictFile)
	must(t, os.WriteFile(verdict, []byte(strings.Replace(read(t, verdict), "PASS-smoke", "PASS-hardening", 1)), 0o644))
	to := filepath.Join(t.TempDir(), "reports")
	_, err := Push(t.Context(), []string{dir}, Destination(to), reports.Words{}, nil)
	var broken *reports.BrokenSeal
	if !errors.As(err, &broken) {
		t.Errorf("push answers %v, want a broken seal", err)
	}
	if _, err := os.Stat(to); !os.IsNotExist(err) {
		t.Error("something was published all the same")
	}
}

func TestPreviewPublishesNothing(t *testing.T) {
	dir, s := finished(t, runtest.Run{Seconds: 1})
	to := filepath.Join(t.TempDir(), "reports")
	would, err := Preview([]string{dir}, Destination(to), reports.Words{}, nil)
	must(t, err)
	if !slices.Contains(would.Paths, "runs/"+s.ID+"/report.md") || !strings.HasSuffix(would.URL, "/reports") {
		t.Errorf("preview answers %+v", would)
	}
	if _, err := os.Stat(to); !os.IsNotExist(err) {
		t.Error("a preview published")
	}
}

func TestPushNamesWhatIsWrong(t *testing.T) {
	t.Setenv("RMQ_GITHUB_TOKEN", "")
	t.Setenv("GITHUB_TOKEN", "")
	dir, _ := finished(t, runtest.Run{Seconds: 1})
	for _, c := range []struct {
		runs []string
		to   Destination
		want string
	}{
		{nil, "x", "no run named"},
		{[]string{dir}, "", "no destination"},
		{[]string{dir}, "github:robustmq", "OWNER/REPO"},
		{[]string{dir}, "github:robustmq/reports", "set RMQ_GITHUB_TOKEN"},
		{[]string{filepath.Join(dir, "none")}, Destination(t.TempDir()), "list runs"},
	} {
		if _, err := Push(t.Context(), c.runs, c.to, reports.Words{}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("push to %q answers %v, want an error with %q", c.to, err, c.want)
		}
	}
}

// The same words are noted once, though they are published again.
func TestWordsOnce(t *testing.T) {
	dir, _ := finished(t, runtest.Run{Seconds: 1})
	for range 2 {
		_, err := Push(t.Context(), []string{dir}, Destination(filepath.Join(t.TempDir(), "to")), reports.Words{Title: "It forgets"}, nil)
		must(t, err)
	}
	if n := strings.Count(read(t, filepath.Join(dir, reports.NotesFile)), "It forgets"); n != 1 {
		t.Errorf("the words are noted %d times", n)
	}
}
