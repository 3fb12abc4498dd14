package hosts

import "path/filepath"

// codex is OpenAI's Codex, whose command line, extension and app share one
// file: ~/.codex/config.toml, or $CODEX_HOME/config.toml, and .codex/config.toml
// of projects that the user trusts: https://developers.openai.com/codex/mcp,
// https://developers.openai.com/codex/config-basic.
func codex() Host {
	dir := func(m Machine) string { return m.env("CODEX_HOME", filepath.Join(m.Home, ".codex")) }
	return Host{
		Name:    "codex",
		Title:   "Codex",
		User:    func(m Machine) (string, error) { return filepath.Join(dir(m), "config.toml"), nil },
		Project: inProject(".codex", "config.toml"),
		Traces:  func(m Machine) []string { return []string{dir(m)} },
		syntax:  tomlText{},
		table:   "mcp_servers",
		After:   "start Codex again; /mcp lists what it is connected to. It reads a project's file only where the project is trusted",
	}
}
