package tools

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// A prompt without a question is the procedure alone; a server that may change
// nothing offers it as well.
func TestSkillPrompts(t *testing.T) {
	c := connectTo(t, (&host{}).server(t, Options{ReadOnly: true}))
	ask := mcp.GetPromptRequest{}
	ask.Params.Name = "rmq-mcp"
	got, err := c.GetPrompt(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	text := got.Messages[0].Content.(mcp.TextContent).Text
	if !strings.HasPrefix(text, "# ") || strings.Contains(text, "Go about it") {
		t.Errorf("%.100s", text)
	}
	ask.Params.Arguments = map[string]string{"question": "Is anything lost?", "fault": "kill", "scenario": "mqtt/broker-kill-9"}
	if got, err = c.GetPrompt(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
	text = got.Messages[0].Content.(mcp.TextContent).Text
	if want := "Is anything lost?\n\nThis is about scenario mqtt/broker-kill-9, fault kill.\n\nGo about it"; !strings.HasPrefix(text, want) {
		t.Errorf("%.200s", text)
	}
	ask.Params.Name = "rmq-nothing"
	if _, err := c.GetPrompt(t.Context(), ask); err == nil {
		t.Error("a prompt that there is not was answered")
	}
}

func TestWords(t *testing.T) {
	words, err := (&agent{}).getRun().Words()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"get_run", "wait_s", "landings", "latest", "summary", "verdict"} {
		if !contains(words, want) {
			t.Errorf("%s is not among %v", want, words)
		}
	}
}
