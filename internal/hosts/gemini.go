package hosts

// geminiCLI is the Gemini CLI: https://geminicli.com/docs/tools/mcp-server. It takes flags
// after -- only as arguments of the server.
func geminiCLI() Host {
	return Host{
		Name:   "gemini",
		Title:  "Gemini CLI",
		Scopes: []Scope{User, Project},
		Add: func(s Scope, e Entry) []string {
			return append([]string{"gemini", "mcp", "add", "--scope", string(s), Name, e.Command, "--"}, e.Args...)
		},
		Remove: func(s Scope) []string { return []string{"gemini", "mcp", "remove", "--scope", string(s), Name} },
		After:  "start Gemini CLI again; `gemini mcp list` says whether it is connected. It connects only in folders that you trust",
	}
}
