package hosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMeanwhile is a host that writes its file while ours are being written:
// it keeps what it wrote, and nothing of ours is left.
func TestMeanwhile(t *testing.T) {
	everywhere(t, func(t *testing.T, target Target) {
		theirs := cases(target.Host)["one"]
		if target.Host.Name == "codex" {
			theirs = tomls["servers"]
		}
		for name, c := range map[string]struct {
			before string // "": no file
			plan   func() (Change, error)
		}{
			"install, backup":  {cases(target.Host)["byte order mark"], func() (Change, error) { return target.Install(entry) }},
			"install, no file": {"", func() (Change, error) { return target.Install(entry) }},
			"remove":           {"ours", target.Uninstall},
		} {
			os.Remove(target.Path)
			switch c.before {
			case "":
			case "ours":
				install(t, target, entry)
			default:
				save(t, target.Path, c.before)
			}
			change, err := c.plan()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			d, err := change.draft()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			save(t, target.Path, theirs)
			if err := d.commit(); err == nil || !strings.Contains(err.Error(), "run this again") {
				t.Errorf("%s: %v", name, err)
			}
			d.discard()
			if content(t, target.Path) != theirs {
				t.Errorf("%s: what the host wrote is gone", name)
			}
			if left, err := os.ReadDir(filepath.Dir(target.Path)); err != nil || len(left) != 1 {
				t.Errorf("%s: left over: %v, %v", name, left, err)
			}
		}
	})
}
