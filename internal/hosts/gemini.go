package hosts

import "path/filepath"

// geminiCLI is the Gemini CLI: ~/.gemini/settings.json, under $GEMINI_CLI_HOME
// where that is set, or .gemini/settings.json of a project, comments allowed:
// https://geminicli.com/docs/tools/mcp-server,
// https://geminicli.com/docs/cli/configuration.
func geminiCLI() Host {
	dir := func(m Machine) string { return filepath.Join(m.env("GEMINI_CLI_HOME", m.Home), ".gemini") }
	return Host{
		Name:    "gemini",
		Title:   "Gemini CLI",
		User:    func(m Machine) (string, error) { return filepath.Join(dir(m), "settings.json"), nil },
		Project: inProject(".gemini", "settings.json"),
		Traces:  func(m Machine) []string { return []string{dir(m)} },
		syntax:  jsonText{},
		table:   "mcpServers",
		After:   "start Gemini CLI again; `gemini mcp list` says whether it is connected; it connects only in folders that you trust",
	}
}
