package hosts

// codex is OpenAI's Codex: https://developers.openai.com/codex/mcp.
func codex() Host {
	return Host{
		Name:   "codex",
		Title:  "Codex",
		Scopes: []Scope{User},
		Add: func(_ Scope, e Entry) []string {
			return append([]string{"codex", "mcp", "add", Name, "--", e.Command}, e.Args...)
		},
		Remove: func(Scope) []string { return []string{"codex", "mcp", "remove", Name} },
		After:  "start Codex again; /mcp lists its servers",
	}
}
