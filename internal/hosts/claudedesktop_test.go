package hosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClaudePackages is Claude Desktop as a package of Windows, of which the
// settings are elsewhere.
func TestClaudePackages(t *testing.T) {
	m := at(t, "windows", nil)
	local := filepath.Join(m.Home, "AppData", "Local")
	host := claudeDesktop()
	add := func(name string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(local, "Packages", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	path := func() string {
		t.Helper()
		target, err := host.In(User, m)
		if err != nil {
			t.Fatal(err)
		}
		return target.Path
	}
	add("Claudette_1")
	if got, want := path(), filepath.Join(m.Home, "AppData", "Roaming", "Claude", "claude_desktop_config.json"); got != want || host.Seen(m) {
		t.Errorf("without a package: %s, want %s; seen %t", got, want, host.Seen(m))
	}
	add("Claude_pzs8sxrjxfjjc")
	want := filepath.Join(local, "Packages", "Claude_pzs8sxrjxfjjc", "LocalCache", "Roaming", "Claude", "claude_desktop_config.json")
	if got := path(); got != want {
		t.Errorf("with a package: %s, want %s", got, want)
	}
	if !host.Seen(m) {
		t.Error("a package is no trace")
	}
	moved := m
	moved.Env = func(name string) string { return map[string]string{"LOCALAPPDATA": local}[name] }
	moved.Home = filepath.Join(m.Home, "elsewhere")
	if target, err := host.In(User, moved); err != nil || target.Path != want {
		t.Errorf("%%LOCALAPPDATA%%: %s, %v", target.Path, err)
	}
	linux := m
	linux.GOOS = "linux"
	if target, err := host.In(User, linux); err != nil || strings.Contains(target.Path, "LocalCache") {
		t.Errorf("on another system: %s, %v", target.Path, err)
	}
	add("Claude_other")
	if _, err := host.In(User, m); err == nil || !strings.Contains(err.Error(), "Claude_other") || !strings.Contains(err.Error(), "--file") {
		t.Errorf("two packages: %v", err)
	}
}
