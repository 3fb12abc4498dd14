package hosts

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var entry = Entry{Command: "/opt/rmq-mcp", Args: []string{"serve"}}

// at is a machine whose files are in a directory of the test's.
func at(t *testing.T, goos string, env map[string]string) Machine {
	dir := t.TempDir()
	return Machine{GOOS: goos, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), Env: func(name string) string { return env[name] }}
}

// TestPlaces are the files of each host, on each system.
func TestPlaces(t *testing.T) {
	plain := Machine{Home: "H", Project: "P", Env: func(string) string { return "" }}
	moved := Machine{Home: "H", Project: "P", Env: func(name string) string { return "$" + name }}
	for _, c := range []struct {
		host, goos string
		machine    Machine
		scope      Scope
		want       string
	}{
		{"claude-code", "linux", plain, User, "H/.claude.json"},
		{"claude-code", "windows", plain, User, "H/.claude.json"},
		{"claude-code", "linux", moved, User, "$CLAUDE_CONFIG_DIR/.claude.json"},
		{"claude-code", "darwin", plain, Project, "P/.mcp.json"},
		{"claude-desktop", "darwin", plain, User, "H/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", moved, User, "$APPDATA/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", plain, User, "H/AppData/Roaming/Claude/claude_desktop_config.json"},
		{"claude-desktop", "linux", plain, User, "H/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", "linux", moved, User, "$XDG_CONFIG_HOME/Claude/claude_desktop_config.json"},
		{"claude-desktop", "linux", plain, Project, ""},
		{"vscode", "darwin", plain, User, "H/Library/Application Support/Code/User/mcp.json"},
		{"vscode", "windows", moved, User, "$APPDATA/Code/User/mcp.json"},
		{"vscode", "linux", plain, User, "H/.config/Code/User/mcp.json"},
		{"vscode", "linux", plain, Project, "P/.vscode/mcp.json"},
		{"cursor", "windows", plain, User, "H/.cursor/mcp.json"},
		{"cursor", "linux", plain, Project, "P/.cursor/mcp.json"},
		{"codex", "linux", plain, User, "H/.codex/config.toml"},
		{"codex", "linux", moved, User, "$CODEX_HOME/config.toml"},
		{"codex", "linux", plain, Project, "P/.codex/config.toml"},
		{"gemini", "linux", plain, User, "H/.gemini/settings.json"},
		{"gemini", "linux", moved, User, "$GEMINI_CLI_HOME/.gemini/settings.json"},
		{"gemini", "linux", plain, Project, "P/.gemini/settings.json"},
		{"mcp.json", "linux", plain, User, ""},
		{"cursor", "linux", plain, "team", ""},
	} {
		host, err := Find(c.host)
		if err != nil {
			t.Fatal(err)
		}
		c.machine.GOOS = c.goos
		target, err := host.In(c.scope, c.machine)
		if got := filepath.ToSlash(target.Path); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s on %s, scope %s: %q, %v, want %q", c.host, c.goos, c.scope, got, err, c.want)
		}
		if err != nil && c.want == "" && !strings.Contains(err.Error(), "--file") && !strings.Contains(err.Error(), "there are") {
			t.Errorf("%s, scope %s: %v names no next step", c.host, c.scope, err)
		}
	}
	if _, err := Find("emacs"); err == nil || !strings.Contains(err.Error(), "claude-code, claude-desktop, vscode, cursor, codex, gemini, mcp.json") {
		t.Errorf("an unknown host: %v", err)
	}
}

// install and uninstall plan a change and carry it out.
func install(t *testing.T, target Target, e Entry) Change {
	t.Helper()
	c, err := target.Install(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(); err != nil {
		t.Fatal(err)
	}
	return c
}

func uninstall(t *testing.T, target Target) Change {
	t.Helper()
	c, err := target.Uninstall()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(); err != nil {
		t.Fatal(err)
	}
	return c
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// everywhere runs a test with the file of every host.
func everywhere(t *testing.T, test func(t *testing.T, target Target)) {
	for _, h := range All() {
		t.Run(h.Name, func(t *testing.T) {
			t.Parallel() // most of the time is the disk's
			m := at(t, "linux", nil)
			target := h.At(filepath.Join(m.Home, "mcp.json"))
			if h.User != nil {
				var err error
				if target, err = h.In(User, m); err != nil {
					t.Fatal(err)
				}
			}
			test(t, target)
		})
	}
}

// TestFresh installs where there is no file, twice, and takes it out again.
func TestFresh(t *testing.T) {
	want := map[string]string{
		"claude-code":    "{\n  \"mcpServers\": {\n    \"rmq-mcp\": {\n      \"type\": \"stdio\",\n      \"command\": \"/opt/rmq-mcp\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n",
		"claude-desktop": "{\n  \"mcpServers\": {\n    \"rmq-mcp\": {\n      \"command\": \"/opt/rmq-mcp\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n",
		"vscode":         "{\n  \"servers\": {\n    \"rmq-mcp\": {\n      \"type\": \"stdio\",\n      \"command\": \"/opt/rmq-mcp\",\n      \"args\": [\"serve\"]\n    }\n  }\n}\n",
		"codex":          "[mcp_servers.rmq-mcp]\ncommand = \"/opt/rmq-mcp\"\nargs = [\"serve\"]\n",
	}
	want["cursor"], want["gemini"], want["mcp.json"] = want["claude-code"], want["claude-desktop"], want["claude-desktop"]
	everywhere(t, func(t *testing.T, target Target) {
		if c := uninstall(t, target); !c.Empty() {
			t.Error("there is something to uninstall where there is no file")
		}
		if c := install(t, target, entry); !c.Created() || c.Backup != "" {
			t.Errorf("created %t, backup %q", c.Created(), c.Backup)
		}
		if got := content(t, target.Path); got != want[target.Host.Name] {
			t.Errorf("installed:\n%s\nwant:\n%s", got, want[target.Host.Name])
		}
		if info, err := os.Stat(target.Path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v; hosts keep secrets there", info.Mode(), err)
		}
		if c := install(t, target, entry); !c.Empty() || c.Diff() != "" {
			t.Errorf("a second installation changes\n%s", c.Diff())
		}
		if got, ok, err := target.Installed(); err != nil || !ok || got.Command != entry.Command || len(got.Args) != 1 {
			t.Errorf("installed: %v, %t, %v", got, ok, err)
		}
		install(t, target, Entry{Command: "/usr/bin/rmq-mcp", Args: []string{"serve"}})
		if c := uninstall(t, target); !c.Removed() {
			t.Error("a file that held nothing else is still there")
		}
		if left, err := os.ReadDir(filepath.Dir(target.Path)); err != nil || len(left) > 0 {
			t.Errorf("left over: %v, %v", left, err)
		}
	})
}

// texts are files that people have, {} for the key of their table of servers.
var texts = map[string]string{
	"empty":             "",
	"an object":         "{}",
	"no servers":        "{\n    \"theme\": \"dark\"\n}\n",
	"none yet":          "{\n  \"{}\": {}\n}",
	"none, two lines":   "{\n  \"{}\": {\n  },\n  \"theme\": \"dark\"\n}\n",
	"one":               "{\n\t\"{}\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"a\",\n\t\t\t\"env\": { \"TOKEN\": \"x//y\" }\n\t\t}\n\t},\n\t\"theme\": \"dark\"\n}\n",
	"in one line":       "{\"theme\": 1, \"{}\": {\"a\": {\"command\": \"a\"}}}",
	"with room":         "{ \"{}\": { \"a\": { \"command\": \"a\" } } }\n",
	"minified":          "{\"{}\":{\"a\":{\"command\":\"a\"}},\"big\":12345678901234567890}",
	"lines of windows":  "{\r\n  \"{}\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
	"byte order mark":   "\xef\xbb\xbf{\r\n  \"{}\": {\r\n    \"a\": {}\r\n  }\r\n}\r\n",
	"escapes":           "{\n  \"{}\": {\n    \"\\u0061\": {\"command\": \"\\u00e9\"}\n  }\n}\n",
	"* comments":        "// mine\n{\n  // servers\n  \"{}\": { // here\n    /* first */ \"a\": {\"command\": \"a\"} // note\n    // the end\n  } /* after */\n}\n// bye\n",
	"* trailing commas": "{\n  \"{}\": {\n    \"a\": {\"command\": \"a\",},\n    \"b\": {}, // note\n  },\n}\n",
	"* only comments":   "{\n  // nothing yet\n}\n",
	"* comment in line": "{\"{}\": {\"a\": {} /* b */ } // c\n}\n",
	"* commented out":   "{\n  \"{}\": {\n    // \"rmq-mcp\": {}\n  }\n}\n",
}

// tomls are the same for TOML.
var tomls = map[string]string{
	"empty":            "",
	"settings":         "model = \"m\" # best\n\n[tui]\n# quiet\nnotifications = false\n",
	"no last line":     "model = \"m\"",
	"servers":          "# mine\n[mcp_servers.a]\ncommand = \"a\"\nargs = [\n  \"x\", # why\n]\n\n[mcp_servers.a.env]\nTOKEN = \"t\"\n\n\n",
	"a parent":         "[mcp_servers]\n\n[mcp_servers.a]\ncommand = 'a'\n# end",
	"lines of windows": "model = \"m\"\r\n\r\n[mcp_servers.a]\r\ncommand = \"a\"\r\n",
	"byte order mark":  "\xef\xbb\xbfmodel = \"m\"\r\n",
	"commented out":    "# [mcp_servers.rmq-mcp]\n# command = \"x\"\n",
	"lists of tables":  "[[hooks]]\nname = \"a\"\n\n[[hooks]]\nname = \"b\"\n",
}

// cases are the texts that a host reads: all of them for one host of each
// syntax, some for the others.
func cases(h Host) map[string]string {
	if _, ok := h.syntax.(tomlText); ok {
		return tomls
	}
	whole := h.Name == "claude-code" || h.Name == "vscode"
	some := []string{"an object", "one", "byte order mark", "* comments"}
	out := map[string]string{}
	for name, text := range texts {
		if h.syntax == (jsonText{plain: true}) && name[0] == '*' || !whole && !slices.Contains(some, name) {
			continue
		}
		out[name] = strings.ReplaceAll(text, `"{}"`, `"`+h.table+`"`)
	}
	return out
}

// TestThere installs into files that there are: it only adds, and the removal
// gives back every byte.
func TestThere(t *testing.T) {
	everywhere(t, func(t *testing.T, target Target) {
		for name, before := range cases(target.Host) {
			save(t, target.Path, before)
			c := install(t, target, entry)
			after := content(t, target.Path)
			if got, ok, err := target.Installed(); err != nil || !ok || got.Command != entry.Command {
				t.Errorf("%s: %v, %t, %v:\n%s", name, got, ok, err, after)
			}
			if got := content(t, c.Backup); got != before {
				t.Errorf("%s: the backup is\n%s", name, got)
			}
			if strings.Count(after, "\r\n") > 0 && strings.Count(after, "\r\n") != strings.Count(after, "\n") {
				t.Errorf("%s: its lines end in two ways: %q", name, after)
			}
			if !within(before, after) {
				t.Errorf("%s: something is gone:\n%s", name, after)
			}
			if c := install(t, target, entry); !c.Empty() {
				t.Errorf("%s: a second installation changes\n%s", name, c.Diff())
			}
			install(t, target, Entry{Command: "/other", Args: []string{"serve"}})
			uninstall(t, target)
			if got := content(t, target.Path); got != before {
				t.Errorf("%s: uninstalled:\n%q\nwant:\n%q", name, got, before)
			}
			if _, err := os.Stat(c.Backup); err == nil {
				t.Errorf("%s: the backup of the same bytes is still there", name)
			}
		}
	})
}

// within says whether a text is what is left of another where parts are left
// out.
func within(part, whole string) bool {
	for _, c := range []byte(part) {
		at := strings.IndexByte(whole, c)
		if at < 0 {
			return false
		}
		whole = whole[at+1:]
	}
	return true
}

// TestLater takes the server out of files that were edited after its installation.
// The later edits stay, and so does everything from before.
func TestLater(t *testing.T) {
	everywhere(t, func(t *testing.T, target Target) {
		for name, before := range cases(target.Host) {
			save(t, target.Path, before)
			install(t, target, entry)
			path := []string{target.Host.table, "later"}
			edit := func(text []byte) string {
				text = bytes.TrimPrefix(text, mark)
				out, err := put(target.Host.syntax, text, path, []field{{"command", "c"}})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				return string(out)
			}
			save(t, target.Path, edit([]byte(content(t, target.Path))))
			install(t, target, Entry{Command: "/other", Args: []string{"serve"}})
			c := uninstall(t, target)
			got, err := target.Host.syntax.decode([]byte(content(t, target.Path)))
			want, wrong := target.Host.syntax.decode([]byte(edit([]byte(before))))
			if err != nil || wrong != nil {
				t.Fatalf("%s: %v, %v", name, err, wrong)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
			for _, comment := range []string{"// mine", "// servers", "// here", "/* first */", "// note", "// the end", "/* after */", "# best", "# quiet", "# why", "# end"} {
				if strings.Contains(before, comment) && !strings.Contains(content(t, target.Path), comment) {
					t.Errorf("%s: %s is gone:\n%s", name, comment, content(t, target.Path))
				}
			}
			if c.Backup != "" || c.Before != backup(target.Path) || content(t, c.Before) != before {
				t.Errorf("%s: what there was before is kept in %q, and overwritten in %q", name, c.Before, c.Backup)
			}
			// A file without our entry is what there was before the next one.
			now := content(t, target.Path)
			if c := install(t, target, entry); content(t, c.Backup) != now {
				t.Errorf("%s: installed again, the backup is\n%s", name, content(t, c.Backup))
			}
			os.Remove(c.Before)
		}
	})
}

// TestOurs installs over an entry that is there already: how it starts
// changes, what a user added stays.
func TestOurs(t *testing.T) {
	everywhere(t, func(t *testing.T, target Target) {
		before := `{"TABLE": {"rmq-mcp": {"args": ["old"], /* by hand */ "command": "/old", "env": {"RMQ_ROBUSTMQ_BIN": "/b"}}, "z": {}}}`
		if target.Host.syntax == (jsonText{plain: true}) {
			before = strings.ReplaceAll(before, "/* by hand */ ", "")
		}
		before = strings.ReplaceAll(before, "TABLE", target.Host.table)
		if target.Host.Name == "codex" {
			before = "[mcp_servers.rmq-mcp] # ours\nargs = [\n  'old',\n] # by hand\ncommand = '/old'\nstartup_timeout_sec = 20\n[mcp_servers.rmq-mcp.env]\nRMQ_ROBUSTMQ_BIN = '/b'\n# of z\n[mcp_servers.z]\n"
		}
		save(t, target.Path, before)
		c := install(t, target, entry)
		got, _, err := target.Installed()
		if err != nil || got.Command != entry.Command || len(got.Args) != 1 || got.Args[0] != "serve" {
			t.Errorf("installed %v, %v", got, err)
		}
		after := content(t, target.Path)
		for _, stays := range []string{"RMQ_ROBUSTMQ_BIN", "by hand", "startup_timeout_sec", "# ours"} {
			if strings.Contains(before, stays) && !strings.Contains(after, stays) {
				t.Errorf("%s is gone:\n%s", stays, after)
			}
		}
		if content(t, c.Backup) != before {
			t.Errorf("the backup is %s", content(t, c.Backup))
		}
		uninstall(t, target)
		after = content(t, target.Path)
		if strings.Contains(after, Name) || !strings.Contains(after, "z") || strings.Contains(before, "# of z") && !strings.Contains(after, "# of z") {
			t.Errorf("uninstalled:\n%s", after)
		}
	})
}
