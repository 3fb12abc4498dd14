package hosts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestPlugin keeps the plugin of Claude Code and its marketplace at one: the
// repository is both, and its skills are the plugin's.
func TestPlugin(t *testing.T) {
	var plugin struct {
		Name    string `json:"name"`
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcpServers"`
	}
	var marketplace struct {
		Plugins []struct{ Name, Source string } `json:"plugins"`
	}
	root := filepath.Join("..", "..")
	for file, into := range map[string]any{"plugin.json": &plugin, "marketplace.json": &marketplace} {
		text, err := os.ReadFile(filepath.Join(root, ".claude-plugin", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	if s := plugin.Servers[Name]; len(plugin.Servers) != 1 || s.Command != "rmq-mcp" || len(s.Args) != 1 || s.Args[0] != "serve" {
		t.Errorf("the plugin's servers are %v", plugin.Servers)
	}
	if p := marketplace.Plugins; len(p) != 1 || p[0].Name != plugin.Name || p[0].Source != "./" {
		t.Errorf("the marketplace offers %v, the plugin is %s", p, plugin.Name)
	}
	var hooks struct {
		Hooks map[string][]struct{ Hooks []struct{ Command string } }
	}
	if text, err := os.ReadFile(filepath.Join(root, "hooks", "hooks.json")); err != nil || json.Unmarshal(text, &hooks) != nil || len(hooks.Hooks["Stop"]) != 1 || hooks.Hooks["Stop"][0].Hooks[0].Command != "rmq-mcp status --hook" {
		t.Errorf("the plugin's hooks are %+v, %v", hooks, err)
	}
	if skills, err := filepath.Glob(filepath.Join(root, "skills", "*", "SKILL.md")); err != nil || len(skills) == 0 {
		t.Errorf("there are no skills beside it: %v", err)
	}
}
