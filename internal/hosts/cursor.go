package hosts

import "path/filepath"

// cursor is Cursor, the editor and its command line: ~/.cursor/mcp.json or
// .cursor/mcp.json, https://cursor.com/docs/mcp#configuration-locations.
func cursor() Host {
	return Host{
		Name:    "cursor",
		Title:   "Cursor",
		User:    inHome(".cursor", "mcp.json"),
		Project: inProject(".cursor", "mcp.json"),
		Traces:  func(m Machine) []string { return []string{filepath.Join(m.Home, ".cursor")} },
		syntax:  jsonText{},
		table:   "mcpServers",
		kind:    []field{{"type", "stdio"}},
		After:   "switch the server on in Cursor's settings, under Tools & MCP",
	}
}
