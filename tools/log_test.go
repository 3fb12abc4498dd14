package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// A client hears of calls at the level that it asked for, and of none before it asks.
func TestLog(t *testing.T) {
	c := connectTo(t, (&host{}).server(t, Options{}))
	heard := make(chan string, 10)
	c.OnNotification(func(n mcp.JSONRPCNotification) {
		if n.Method == "notifications/message" {
			data := n.Params.AdditionalFields["data"].(map[string]any)
			heard <- fmt.Sprint(n.Params.AdditionalFields["level"], " ") + data["tool"].(string) + ": " + data["said"].(string)
		}
	})
	level := func(l mcp.LoggingLevel) {
		ask := mcp.SetLevelRequest{}
		ask.Params.Level = l
		//lint:ignore SA1019 clients of the revisions before 2026-07-28 set a level for their session
		if err := c.SetLevel(t.Context(), ask); err != nil {
			t.Fatal(err)
		}
	}
	callTool(t, c, "list_scenarios", nil)
	level(mcp.LoggingLevelWarning)
	callTool(t, c, "list_scenarios", nil)
	callTool(t, c, "preflight", map[string]any{"fault": "meteor"})
	level(mcp.LoggingLevelInfo)
	callTool(t, c, "list_scenarios", nil)
	for _, want := range []string{`warning preflight: no fault "meteor"`, "info list_scenarios: 2 scenarios"} {
		if got := <-heard; !strings.HasPrefix(got, want) {
			t.Errorf("heard %s, not %s", got, want)
		}
	}
}
