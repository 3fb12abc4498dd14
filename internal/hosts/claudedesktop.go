package hosts

// claudeDesktop is Claude Desktop:
// https://modelcontextprotocol.io/docs/develop/connect-local-servers. It has no command
// line, and shows no tools if its file has a mistake. See [Bundle].
func claudeDesktop() Host {
	return Host{
		Name:  "claude-desktop",
		Title: "Claude Desktop",
		File:  "claude_desktop_config.json, which Settings > Developer > Edit Config shows",
		Table: "mcpServers",
		After: "quit Claude Desktop, not only its window, and start it again",
	}
}
