//go:build unix

package hosts

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// somebody is a user and a group that root can give files to.
const somebody = 1234

// owned says to whom a file belongs.
func owned(t *testing.T, path string) (user, group int) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	stat := info.Sys().(*syscall.Stat_t)
	return int(stat.Uid), int(stat.Gid)
}

// TestOwner installs for somebody else, as sudo with the HOME of a user does.
func TestOwner(t *testing.T) {
	host, err := Find("mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chown(dir, somebody, somebody); err != nil {
		hosttest.Skip(t, err.Error())
	}
	target := host.At(filepath.Join(dir, "a", "b", "mcp.json"))
	install(t, target, entry)
	for path := target.Path; path != dir; path = filepath.Dir(path) {
		if user, group := owned(t, path); user != somebody || group != somebody {
			t.Errorf("the new %s belongs to %d:%d, the directory around it to %d", path, user, group, somebody)
		}
	}
	// One's own file, of another group.
	save(t, target.Path, "{}")
	if err := os.Chown(target.Path, os.Geteuid(), somebody); err != nil {
		t.Fatal(err)
	}
	c := install(t, target, entry)
	for _, path := range []string{target.Path, c.Backup} {
		if user, group := owned(t, path); user != os.Geteuid() || group != somebody {
			t.Errorf("%s belongs to %d:%d, it was %d:%d", path, user, group, os.Geteuid(), somebody)
		}
	}
}

// TestUmask makes new files for whom the user lets read them.
func TestUmask(t *testing.T) {
	host, err := Find("cursor")
	if err != nil {
		t.Fatal(err)
	}
	target, err := host.In(Project, at(t, "linux", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Umask(syscall.Umask(0o027)) // no test is parallel to this one
	install(t, target, entry)
	for path, want := range map[string]os.FileMode{target.Path: 0o640, filepath.Dir(target.Path): 0o750} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}
