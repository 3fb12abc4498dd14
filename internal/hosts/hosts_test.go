package hosts

import (
	"encoding/json"
	"strings"
	"testing"
)

var entry = Entry{Command: "/opt/my programs/rmq-mcp", Args: []string{"serve", "--dir", "/var/rmq"}}

// The command lines are those that Claude Code 2.1.197, Codex 0.171.0 and Gemini CLI 0.61.0
// accepted, and each wrote the entry.
func TestCommandLines(t *testing.T) {
	for name, want := range map[string][2]string{
		"claude-code": {
			"claude mcp add --scope project rmq-mcp -- '/opt/my programs/rmq-mcp' serve --dir /var/rmq",
			"claude mcp remove --scope project rmq-mcp",
		},
		"codex": {
			"codex mcp add rmq-mcp -- '/opt/my programs/rmq-mcp' serve --dir /var/rmq",
			"codex mcp remove rmq-mcp",
		},
		"gemini": {
			"gemini mcp add --scope project rmq-mcp '/opt/my programs/rmq-mcp' -- serve --dir /var/rmq",
			"gemini mcp remove --scope project rmq-mcp",
		},
	} {
		h, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]string{Line(h.Add(Project, entry)), Line(h.Remove(Project))}; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// A host without a command line says where its servers are listed, and the snippet has
// the entry there.
func TestSnippets(t *testing.T) {
	for _, h := range All() {
		if (h.Add == nil) != (h.Remove == nil) || (h.Add == nil) != (h.File != "") || h.After == "" {
			t.Errorf("%s: %+v", h.Name, h)
		}
		if h.Add != nil {
			continue
		}
		var file map[string]map[string]Entry
		if err := json.Unmarshal([]byte(h.Snippet(entry)), &file); err != nil {
			t.Fatal(err)
		}
		if got := file[h.Table][Name]; got.Command != entry.Command || len(got.Args) != 3 || (got.Type == "stdio") != h.Typed {
			t.Errorf("%s: %+v", h.Name, file)
		}
	}
}

func TestRunNeedsProgram(t *testing.T) {
	t.Setenv("PATH", "")
	h := claudeCode()
	err := h.Run(t.Context(), h.Add(User, entry), t.Output())
	if err == nil || !strings.Contains(err.Error(), "claude is not on the PATH") || !strings.Contains(err.Error(), "'/opt/my programs/rmq-mcp' serve") {
		t.Error(err)
	}
}
