package hosts

// cursor is Cursor, the editor and its command line:
// https://cursor.com/docs/mcp#configuration-locations.
func cursor() Host {
	return Host{
		Name:  "cursor",
		Title: "Cursor",
		File:  "~/.cursor/mcp.json, or .cursor/mcp.json of a project",
		Table: "mcpServers",
		Typed: true,
		After: "switch the server on in Cursor's settings, under Tools & MCP",
	}
}
