package publish

import (
	"path/filepath"
	"strings"
	"testing"
)

// A state directory remembers a place, however it was named, and no password.
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
	for to, want := range map[Destination]int{
		Destination(filepath.Join(dir, "reports")): 1, "https://example.org/r.git#pages": 1, "https://example.org/r.git": 0, "elsewhere": 0,
	} {
		there, err := Remembered(dir, to)
		must(t, err)
		if len(there) != want || want > 0 && there["a"] != "1" {
			t.Errorf("%s has %v", to, there)
		}
	}
}
