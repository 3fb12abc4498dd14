package hosts

import "path/filepath"

// vsCode is Visual Studio Code: mcp.json of the user's default profile, or
// .vscode/mcp.json, with "servers" and not "mcpServers", and comments allowed:
// https://code.visualstudio.com/docs/agents/reference/mcp-configuration. Where
// the profile is: https://code.visualstudio.com/docs/configure/settings#_user-settingsjson-location.
func vsCode() Host {
	dir := func(m Machine) string { return filepath.Join(m.appData(), "Code") }
	return Host{
		Name:    "vscode",
		Title:   "VS Code",
		User:    func(m Machine) (string, error) { return filepath.Join(dir(m), "User", "mcp.json"), nil },
		Project: inProject(".vscode", "mcp.json"),
		Traces:  func(m Machine) []string { return []string{dir(m)} },
		syntax:  jsonText{},
		table:   "servers",
		kind:    []field{{"type", "stdio"}},
		After:   "VS Code asks whether to trust the server when it first starts it: `MCP: List Servers`",
	}
}
