package hosts

// claudeCode is Claude Code: https://code.claude.com/docs/en/mcp. Its `mcp add` refuses a
// name that is there.
func claudeCode() Host {
	return Host{
		Name:   "claude-code",
		Title:  "Claude Code",
		Scopes: []Scope{User, Project},
		Add: func(s Scope, e Entry) []string {
			return append([]string{"claude", "mcp", "add", "--scope", string(s), Name, "--", e.Command}, e.Args...)
		},
		Remove: func(s Scope) []string { return []string{"claude", "mcp", "remove", "--scope", string(s), Name} },
		After:  "start Claude Code again; `claude mcp list` says whether it is connected",
	}
}
