package publish

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
)

// A run is published with all that was decided over several runs.
func TestBundleHasWhatWasDecided(t *testing.T) {
	run, s := finished(t, runtest.Run{Lossy: true, Seconds: 1})
	must(t, reports.JoinBlame(run, reports.Blame{Headline: "the broker"}))
	must(t, reports.JoinSeries(run, reports.Series{Headline: "3 of 3"}))
	files, err := bundle(run, s.ID)
	must(t, err)
	for _, name := range []string{reports.BlameFile, reports.SeriesFile} {
		if _, is := files.Pages[name]; !is {
			t.Errorf("%s is not published", name)
		}
	}
}

// A copy of a run with long logs and a long history has all of the evidence, and verifies; a
// copy of that copy as well. A log has an excerpt for people.
func TestLongFilesArePacked(t *testing.T) {
	dir := runtest.Run{Seconds: 60, Rate: 300}.Record(t, filepath.Join(t.TempDir(), reports.RunsDir))
	line := strings.Repeat("x", 99) + "\n"
	must(t, os.WriteFile(filepath.Join(dir, reports.EvidenceDir, reports.LogsDir, "node-1.log"), []byte("first\n"+strings.Repeat(line, 20_000)+"last\n"), 0o644))
	_, err := reports.Finish(dir, runtest.Key)
	must(t, err)
	for range 2 {
		to := filepath.Join(t.TempDir(), "copy")
		_, err = Push(t.Context(), []string{dir}, Destination(to), reports.Words{}, nil)
		must(t, err)
		dir = filepath.Join(to, reports.RunsDir, filepath.Base(dir))
		for _, name := range []string{"evidence/logs/node-1.log.zst", "evidence/history.arrow.zst"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Error(err)
			}
		}
		if _, err := reports.Verify(dir); err != nil {
			t.Error(err)
		}
		if cut := read(t, filepath.Join(to, reports.RunsDir, filepath.Base(dir), reports.ExcerptsDir, "node-1.log")); len(cut) > 300<<10 || !strings.HasPrefix(cut, "first\n") || !strings.HasSuffix(cut, "last\n") || !strings.Contains(cut, "are not in this excerpt") {
			t.Errorf("the log was cut to %d bytes", len(cut))
		}
	}
	short := filepath.Join(dir, reports.ExcerptsDir, "node-1.log")
	text := read(t, short)
	for before, after := range map[string]string{"first": "worst", "\n[1": "\n[2", "in this excerpt": "of interest"} {
		must(t, os.WriteFile(short, []byte(strings.Replace(text, before, after, 1)), 0o644))
		if _, err := reports.Verify(dir); err == nil || !strings.Contains(err.Error(), "excerpts/node-1.log is not the beginning and the end") {
			t.Errorf("a copy whose excerpt says %q: %v", after, err)
		}
	}
	must(t, os.WriteFile(short, []byte(text), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "evidence", "history.arrow"), nil, 0o644))
	if _, err := reports.Verify(dir); err == nil {
		t.Error("a copy with a second history verifies")
	}
}

// A file that is too large for a copy is told of with its hash.
func TestLeftOut(t *testing.T) {
	noise := make([]byte, mostEvidence+1)
	dir := runtest.Run{Seconds: 1}.Record(t, t.TempDir())
	must(t, os.WriteFile(filepath.Join(dir, reports.EvidenceDir, "large"), noise, 0o644))
	s, err := reports.Finish(dir, runtest.Key)
	must(t, err)
	files, err := bundle(dir, s.ID)
	must(t, err)
	if want := fmt.Sprintf("%x  %d  evidence/large\n", sha256.Sum256(noise), len(noise)); !strings.HasSuffix(string(files.Pages[leftOutFile]), want) {
		t.Errorf("no %q is told of", want)
	}
}

func TestNothingLeadsOut(t *testing.T) {
	for _, name := range []string{"../out", "a/../../out", "/out"} {
		root, err := os.OpenRoot(t.TempDir())
		must(t, err)
		defer root.Close()
		if err := writeTree(t.Context(), root, []file{{path: name, content: []byte("x")}}); err == nil || !strings.Contains(err.Error(), "leads out") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
