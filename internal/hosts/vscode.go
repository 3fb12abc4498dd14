package hosts

// vsCode is Visual Studio Code, whose file lists "servers" and not "mcpServers":
// https://code.visualstudio.com/docs/agents/reference/mcp-configuration.
func vsCode() Host {
	return Host{
		Name:  "vscode",
		Title: "VS Code",
		File:  "mcp.json, which `MCP: Open User Configuration` opens, or .vscode/mcp.json of a project",
		Table: "servers",
		Typed: true,
		After: "VS Code asks whether to trust the server when it first starts it: `MCP: List Servers`",
	}
}
