package reports

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

func TestLoadKeyIsMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	keys := make([]string, 16)
	var g errgroup.Group
	for i := range keys {
		g.Go(func() error {
			key, err := LoadKey(dir)
			keys[i] = string(key)
			return err
		})
	}
	must(t, g.Wait())
	for _, key := range keys {
		if key != keys[0] {
			t.Fatal("two callers got different keys")
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	info, err := os.Stat(filepath.Join(dir, "key"))
	must(t, err)
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the key has mode %v", info.Mode())
	}
}

func TestLoadKeyRefusesWhatIsNone(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "key"), []byte("hello"), 0o600))
	if _, err := LoadKey(dir); err == nil || !strings.Contains(err.Error(), "move the file away") {
		t.Errorf("LoadKey answers %v", err)
	}
}
