package publish

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/reports"
)

// A state directory remembers a place, however it was named, and no password. A run that was
// judged again since is not there as it is.
func TestRemember(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	roots := map[string]string{"a": "1", "b": "2"}
	for _, to := range []Destination{"reports/", "https://me:hunter2@example.org/r.git#pages"} {
		must(t, Remember(dir, to, []string{filepath.Join(dir, "runs", "a")}, roots))
	}
	if text := read(t, filepath.Join(dir, memoryFile)); strings.Contains(text, "hunter2") {
		t.Error(text)
	}
	must(t, os.MkdirAll(filepath.Join(dir, reports.RunsDir, "a"), 0o755))
	seal := func(root string) {
		must(t, reports.WriteJSON(filepath.Join(dir, reports.RunsDir, "a", reports.SealFile), reports.Seal{Format: 1, Root: root}))
	}
	seal("1")
	for to, want := range map[Destination]int{
		Destination(filepath.Join(dir, "reports")): 1, "https://example.org/r.git#pages": 1, "https://example.org/r.git": 0, "elsewhere": 0,
	} {
		there, err := Remembered(dir, to)
		must(t, err)
		if len(there) != want || want > 0 && !there["a"] {
			t.Errorf("%s has %v", to, there)
		}
	}
	seal("2")
	if there, err := Remembered(dir, "reports/"); err != nil || len(there) > 0 {
		t.Errorf("after it was judged again: %v, %v", there, err)
	}
}
