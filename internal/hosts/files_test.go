package hosts

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestRefused checks that broken files are left alone. Each error says what is wrong,
// where, and what to do.
func TestRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, target Target) {
		broken := map[string][]string{
			"{\n  \"TABLE\": {\n    \"a\": }\n}\n": {"line 3, column 10", "mend it"},
			"{\n  \"TABLE\": {":                    {"line 2", "mend it"},
			"[]":                                   {"line 1", "object", "mend it"},
			"{\n  \"TABLE\": []\n}":                {"line 2", "TABLE", "by hand"},
			"{\"TABLE\": {},\n \"TABLE\": {}}":     {"line 2", "second time", "by hand"},
			"{\"TABLE\": {\"rmq-mcp\": {\"url\": \"http://x/\"}}}":     {"not started by a command", "uninstall"},
			"{\"TABLE\": {\n \"rmq-mcp\": \"x\"}}":                     {"line 2", "by hand"},
			"\xff\xfe{\x00}\x00":                                       {"not UTF-8", "save it"},
			"{\n  // a comment that Claude cannot read\n  \"a\": 1\n}": {"line 2, column 3", "no comments", "mend it"},
			"{\"TABLE\": {\n  \"a\": 1,\n}}":                           {"line 3, column 1", "no comma", "mend it"},
		}
		if target.Host.Name == "codex" {
			broken = map[string][]string{
				"a = 1\n[mcp_servers\n":                          {"line 2", "mend it"},
				"a = 1\na = 2\n":                                 {"line 2", "mend it"},
				"\nmcp_servers = { a = { command = \"a\" } }\n":  {"line 2", "inline", "by hand", "[mcp_servers.rmq-mcp]"},
				"[mcp_servers]\nrmq-mcp = { command = \"a\" }\n": {"line 2", "inline", "by hand"},
				"[mcp_servers.rmq-mcp]\nurl = \"http://x/\"\n":   {"not started by a command", "uninstall"},
				"mcp_servers = 3\n":                              {"line 1", "by hand"},
				"mcp_servers.rmq-mcp.command = \"a\"\n":          {"not written as a table", "by hand"},
				"[mcp_servers.a]\n[[mcp_servers.rmq-mcp]]\n":     {"line 2", "by hand"},
				"mcp_servers = {\nrmq-mcp = 3 }\n":               {"line 1", "by hand"},
				"[mcp_servers]\nrmq-mcp = \"x\"\n":               {"line 2", "by hand"},
				"\xff\xfea\x00":                                  {"not UTF-8", "save it"},
			}
		}
		for text, says := range broken {
			if target.Host.syntax == (jsonText{}) && strings.HasPrefix(says[len(says)-2], "no com") {
				continue // this host reads it
			}
			text = strings.ReplaceAll(text, "TABLE", target.Host.table)
			save(t, target.Path, text)
			c, err := target.Install(entry)
			if err == nil {
				t.Errorf("%q is taken:\n%s", text, c.Diff())
				continue
			}
			for _, part := range append(says, filepath.Base(target.Path), "Nothing was changed") {
				if part = strings.ReplaceAll(part, "TABLE", target.Host.table); !strings.Contains(err.Error(), part) {
					t.Errorf("%q: %v, want %q", text, err, part)
				}
			}
			if content(t, target.Path) != text {
				t.Errorf("%q was changed", text)
			}
		}
	})
}

// TestNoTable is our name with something else behind it than an entry: it is
// not taken for nothing.
func TestNoTable(t *testing.T) {
	everywhere(t, func(t *testing.T, target Target) {
		texts := []string{"{\"TABLE\": {\n \"rmq-mcp\": \"x\"}}", "{\"TABLE\": {\"a\": {},\n \"rmq-mcp\": null}}", "{\n\"TABLE\": {\"rmq-mcp\": []}}"}
		if target.Host.Name == "codex" {
			texts = []string{"[mcp_servers]\nrmq-mcp = 'x'\n", "\n[[mcp_servers.rmq-mcp]]\ncommand = 'x'\n", "\nmcp_servers = { rmq-mcp = 1 }\n"}
		}
		for _, text := range texts {
			save(t, target.Path, strings.ReplaceAll(text, "TABLE", target.Host.table))
			_, err := target.Install(entry)
			_, gone := target.Uninstall()
			_, _, read := target.Installed()
			for _, err := range []error{err, gone, read} {
				if err == nil || !strings.Contains(err.Error(), "line 2: rmq-mcp") || !strings.Contains(err.Error(), "by hand") {
					t.Errorf("%q: %v", text, err)
				}
			}
		}
	})
}

// TestFiles is what a file may be beside its text.
func TestFiles(t *testing.T) {
	everywhere(t, func(t *testing.T, target Target) {
		before := cases(target.Host)["byte order mark"]
		save(t, target.Path, before)
		if err := os.Chmod(target.Path, 0o444); err != nil {
			t.Fatal(err)
		}
		if _, err := target.Install(entry); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("a read-only file: %v", err)
		}
		if err := os.Chmod(target.Path, 0o640); err != nil {
			t.Fatal(err)
		}
		// Planned, and changed by the host before it is done.
		c, err := target.Install(entry)
		if err != nil {
			t.Fatal(err)
		}
		save(t, target.Path, before+"\n")
		if err := c.Apply(); err == nil || !strings.Contains(err.Error(), "run this again") || content(t, target.Path) != before+"\n" {
			t.Errorf("a file that was changed meanwhile: %v", err)
		}
		if runtime.GOOS == "windows" {
			return // links need a privilege there
		}
		real := filepath.Join(t.TempDir(), "dotfiles")
		if err := os.Rename(target.Path, real); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, target.Path); err != nil {
			t.Fatal(err)
		}
		install(t, target, entry)
		if info, err := os.Lstat(target.Path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("the link is gone: %v, %v", info, err)
		}
		for _, path := range []string{real, backup(real)} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("%s: %v, %v, want the mode that it had", path, info, err)
			}
		}
		uninstall(t, target)
		if got := content(t, real); got != before+"\n" {
			t.Errorf("uninstalled through a link: %q", got)
		}
		// One that holds nothing but our entry is somebody's all the same.
		if err := os.Remove(real); err != nil {
			t.Fatal(err)
		}
		install(t, target.Host.At(real), entry)
		if c := uninstall(t, target); c.Removed() || c.Backup != "" {
			t.Errorf("through a link: removed %t, backup %q", c.Removed(), c.Backup)
		}
		if got := content(t, target.Path); strings.Contains(got, Name) {
			t.Errorf("uninstalled through a link, it is %q", got)
		}
		if err := os.Remove(real); err != nil {
			t.Fatal(err)
		}
		if _, err := target.Install(entry); err == nil || !strings.Contains(err.Error(), "link") {
			t.Errorf("a link to nothing: %v", err)
		}
		if err := os.Remove(target.Path); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(target.Path, 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := target.Install(entry); err == nil || !strings.Contains(err.Error(), "no file") {
			t.Errorf("a directory: %v", err)
		}
	})
}

// TestStrings are paths that need escapes.
func TestStrings(t *testing.T) {
	everywhere(t, func(t *testing.T, target Target) {
		for _, command := range []string{`C:\Program Files\rmq-mcp.exe`, `/it's "here"`, "/tab\there", "/ünï/コ", `/a'b\c`} {
			install(t, target, Entry{Command: command, Args: []string{"serve", "--dir", command}})
			if got, _, err := target.Installed(); err != nil || got.Command != command || got.Args[2] != command {
				t.Errorf("%q: %q, %v in\n%s", command, got, err, content(t, target.Path))
			}
		}
	})
}
