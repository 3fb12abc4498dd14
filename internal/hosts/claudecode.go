package hosts

import "path/filepath"

// claudeCode is Claude Code. Servers of the user are in ~/.claude.json, or in
// $CLAUDE_CONFIG_DIR/.claude.json, those of a project in .mcp.json at its root:
// https://code.claude.com/docs/en/mcp#mcp-installation-scopes. It reads plain
// JSON, without comments.
func claudeCode() Host {
	return Host{
		Name:  "claude-code",
		Title: "Claude Code",
		User: func(m Machine) (string, error) {
			return filepath.Join(m.env("CLAUDE_CONFIG_DIR", m.Home), ".claude.json"), nil
		},
		Project: inProject(".mcp.json"),
		Traces: func(m Machine) []string {
			dir := m.env("CLAUDE_CONFIG_DIR", m.Home)
			return []string{filepath.Join(dir, ".claude.json"), filepath.Join(m.Home, ".claude")}
		},
		syntax: jsonText{plain: true},
		table:  "mcpServers",
		kind:   []field{{"type", "stdio"}},
		After:  "start Claude Code again; `claude mcp list` says whether it is connected",
	}
}
