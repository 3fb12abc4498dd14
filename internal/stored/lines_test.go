package stored

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each line is passed on once, the long ones cut, the last one also without an end.
func TestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, []byte("a\n\n"+strings.Repeat("x", 100)+"\nlast"), 0o644); err != nil {
		t.Fatal(err)
	}
	var got []string
	if err := Lines(path, 16, func(line string) { got = append(got, line) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "", strings.Repeat("x", 16), "last"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := Lines(path+".none", 16, func(string) {}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
