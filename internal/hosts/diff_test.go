package hosts

import (
	"strings"
	"testing"
)

// TestDiff shows how the server is started before and after, and nothing of
// what stands beside it: in lines that change, other servers keep their tokens.
func TestDiff(t *testing.T) {
	jsons := map[string]string{
		"in one line":      `{"TABLE": {"a": {"command": "a", "env": {"TOKEN": "secret"}}}}`,
		"minified":         `{"TABLE":{"a":{"command":"a","env":{"TOKEN":"secret"}}}}`,
		"last in one line": "{\n  \"TABLE\": {\n    \"a\": {\"env\": {\"TOKEN\": \"secret\"}}\n  }\n}\n",
		"in lines":         "{\n  \"TABLE\": {\n    \"a\": {\n      \"env\": {\"TOKEN\": \"secret\"}\n    }\n  }\n}\n",
		"ours with a key":  `{"TABLE": {"rmq-mcp": {"command": "/old", "args": ["serve"], "env": {"KEY": "secret"}}, "z": {}}}`,
		"ours in lines":    "{\n  \"TABLE\": {\n    \"rmq-mcp\": {\n      \"command\": \"/old\",\n      \"env\": {\"KEY\": \"secret\"}\n    }\n  }\n}\n",
	}
	tomls := map[string]string{
		"no last line":    "[mcp_servers.a.env]\nTOKEN = \"secret\"",
		"lines":           "[mcp_servers.a.env]\nTOKEN = \"secret\"\n",
		"ours with a key": "[mcp_servers.rmq-mcp]\ncommand = '/old'\nargs = ['serve']\nenv = { KEY = 'secret' }\n",
		"ours, no last":   "[mcp_servers.rmq-mcp]\ncommand = '/old'\nargs = ['serve']\n[mcp_servers.rmq-mcp.env]\nKEY = 'secret'",
	}
	everywhere(t, func(t *testing.T, target Target) {
		cases := jsons
		if target.Host.Name == "codex" {
			cases = tomls
		}
		for name, text := range cases {
			before := strings.ReplaceAll(text, "TABLE", target.Host.table)
			save(t, target.Path, before)
			c, err := target.Install(entry)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			diff := c.Diff()
			if !strings.HasPrefix(diff, c.File+"\n") || !strings.Contains(diff, `+ rmq-mcp: command "/opt/rmq-mcp", args ["serve"]`) || strings.Contains(diff, "secret") {
				t.Errorf("%s, install:\n%s", name, diff)
			}
			ours := strings.HasPrefix(name, "ours")
			if ours != strings.Contains(diff, `- rmq-mcp: command "/old", args [`) || ours != strings.Contains(diff, `"env"`) {
				t.Errorf("%s, what is there is not what goes:\n%s", name, diff)
			}
			if content(t, target.Path) != before {
				t.Errorf("%s: a plan was carried out", name)
			}
			if !ours {
				install(t, target, entry)
				before = content(t, target.Path)
			}
			if c, err = target.Uninstall(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := c.Diff(); !strings.Contains(diff, "- rmq-mcp: command ") || strings.Contains(diff, "secret") || strings.Contains(diff, "\n+") {
				t.Errorf("%s, uninstall:\n%s", name, diff)
			}
			if content(t, target.Path) != before {
				t.Errorf("%s: a plan was carried out", name)
			}
		}
	})
}
