package registry

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// npm puts a client of a registry into the PATH. Each time it notes that it ran, and does as
// the script says in the folder of the version.
func npm(t *testing.T, script string) (ran func() int) {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil || runtime.GOOS == "windows" {
		hosttest.Skip(t, "no shell")
	}
	bin := t.TempDir()
	notes := filepath.Join(bin, "ran")
	text := fmt.Sprintf("#!/bin/sh\necho \"$@\" >> %s\n%s\n", notes, script)
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return func() int {
		text, _ := os.ReadFile(notes)
		return strings.Count(string(text), "\n")
	}
}

var aedes = Package{Registry: "npm", Name: "aedes", Program: "node_modules/aedes"}

// A version is installed once, also by several at the same time.
func TestInstall(t *testing.T) {
	ran := npm(t, "mkdir -p node_modules/aedes")
	cache := t.TempDir()
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			program, err := aedes.Install(t.Context(), cache, "1.2.0", nil)
			if want := filepath.Join(cache, "npm-aedes-1.2.0", "node_modules", "aedes"); err != nil || program != want {
				t.Errorf("installed as %s, %v, want %s", program, err, want)
			}
		})
	}
	group.Wait()
	if ran() != 1 {
		t.Errorf("npm ran %d times", ran())
	}
}

// An installation that fails leaves nothing, and the next one begins in an empty folder.
func TestInstallFails(t *testing.T) {
	npm(t, "touch half; echo 'npm error 404 no such package' >&2; exit 1")
	cache := t.TempDir()
	_, err := aedes.Install(t.Context(), cache, "1.2.0", nil)
	if err == nil || !strings.HasPrefix(err.Error(), "install aedes 1.2.0 of npm: npm install") || !strings.HasSuffix(err.Error(), "exit status 1: npm error 404 no such package") {
		t.Errorf("a client that fails: %v", err)
	}
	dir := filepath.Join(cache, "npm-aedes-1.2.0")
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("it left its folder: %v", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "half"), 0o755); err != nil { // of a process that was killed
		t.Fatal(err)
	}
	npm(t, "[ ! -e half ] && mkdir -p node_modules/aedes")
	if _, err := aedes.Install(t.Context(), cache, "1.2.0", nil); err != nil {
		t.Error(err)
	}
}

// A package without the program that its document names is refused.
func TestInstallWithoutProgram(t *testing.T) {
	cache := t.TempDir()
	npm(t, "mkdir -p node_modules/aedes-cli")
	if _, err := aedes.Install(t.Context(), cache, "1.2.0", nil); err == nil || !strings.Contains(err.Error(), "program of the package names it") {
		t.Error(err)
	}
	npm(t, "mkdir -p node_modules/aedes")
	if _, err := aedes.Install(t.Context(), cache, "1.2.0", nil); err != nil {
		t.Errorf("the next installation: %v", err)
	}
}

// A name or version that could be an option, another command or a path elsewhere is refused.
func TestBadPackages(t *testing.T) {
	for _, c := range []struct {
		p    Package
		want string
	}{
		{Package{"cpan", "a", "a"}, `no registry "cpan"; there are crates, go, maven, npm, pypi`},
		{Package{"npm", "--global", "a"}, "is no name"},
		{Package{"npm", "../a", "a"}, "is no name"},
		{Package{"npm", "a b", "a"}, "is no name"},
		{Package{"npm", "owner/repository", "a"}, "is no name"},
		{Package{"npm", "file:a", "a"}, "is no name"},
		{Package{"maven", "moquette", "jars"}, "is no name"},
		{Package{"npm", "a", "../../bin/sh"}, "must be a path below"},
		{Package{"npm", "a", ""}, "must be a path below"},
	} {
		if err := c.p.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
	for _, version := range []string{"", "latest", "1.2", "1;reboot", "--force", "1.2.0/../2"} {
		if _, err := aedes.Install(t.Context(), t.TempDir(), version, nil); err == nil || !strings.Contains(err.Error(), "is no whole version") {
			t.Errorf("version %q: %v", version, err)
		}
	}
	for _, p := range []Package{{"npm", "@a/b", "a"}, {"maven", "io.moquette:moquette-broker", "jars"}, {"go", "github.com/mochi-mqtt/server/v2/cmd/docker", "docker"}} {
		if err := p.Check(); err != nil {
			t.Error(err)
		}
	}
}
