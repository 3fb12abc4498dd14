package hosts

// generic is any other host that reads the most common format from a file that the
// user names.
func generic() Host {
	return Host{
		Name:   "mcp.json",
		Title:  "mcp.json",
		syntax: jsonText{},
		table:  "mcpServers",
		After:  "start again whatever reads the file",
	}
}
