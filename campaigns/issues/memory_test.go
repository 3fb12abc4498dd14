package issues

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A memory is one repository's, stays, and is one process's.
func TestMemory(t *testing.T) {
	dir := t.TempDir()
	m, err := OpenMemory(dir, "o/r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenMemory(dir, "o/r"); err == nil || !strings.Contains(err.Error(), "another process keeps issues") {
		t.Errorf("twice at once: %v", err)
	}
	if err := errors.Join(m.Add("a", 7), m.Close()); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadMemory(dir, "o/r"); err != nil || !slices.Equal(got.IDs(), []string{"a"}) {
		t.Errorf("%+v, %v", got, err)
	}
	nothing := t.TempDir()
	if _, err := ReadMemory(nothing, "o/r"); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(nothing); len(left) > 0 {
		t.Errorf("reading leaves %v", left)
	}
	if err := os.WriteFile(filepath.Join(nothing, MemoryFile), []byte("null"), 0o644); err != nil {
		t.Fatal(err)
	}
	if m, err := OpenMemory(nothing, "o/r"); err != nil || m.Add("b", 1) != nil || m.Close() != nil {
		t.Error(err)
	}
	for repo, want := range map[string]int{"o/r": 7, "o/other": 0} {
		m, err := OpenMemory(dir, repo)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := m.Number("a"); n != want {
			t.Errorf("%s: %d", repo, n)
		}
		m.Close()
	}
}
