package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Many SDKs need the same tools; a look at the machine asks each tool once.
func TestLookAsksEachToolOnce(t *testing.T) {
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	script := "#!/bin/sh\necho \"$@\" >> " + asked + "\necho Python 3.11.2\n"
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	sdks, err := ResolveAll("python")
	if err != nil || len(sdks) < 2 {
		t.Fatalf("%d SDKs, %v", len(sdks), err)
	}
	for _, s := range Look(t.Context(), t.TempDir(), sdks) {
		if s.State != StateNotInstalled {
			t.Errorf("%s is %s: %s", s.SDK, s.State, s.Missing)
		}
	}
	text, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(text), "--version"); got != 1 {
		t.Errorf("python3 was asked %d times for its version:\n%s", got, text)
	}
	if got := strings.Count(string(text), "ensurepip"); got != 1 {
		t.Errorf("python3 was asked %d times for venv:\n%s", got, text)
	}
}

func BenchmarkLook(b *testing.B) {
	for b.Loop() {
		Look(b.Context(), "", SDKs())
	}
}
