// Package modeltest is a language model that follows a script, for tests of what real
// agents do with this program's tools. It speaks the Messages API of Anthropic on loopback,
// as far as Claude Code asks it.
package modeltest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// A Turn is what the model does next: a call of a tool, or else words that end its turn.
type Turn struct {
	Tool  string
	Input map[string]any
	Say   string
}

// A Model takes its turns from a script. The last one is repeated.
type Model struct {
	URL    string
	Script []func(conversation string) Turn // all that was said so far, as JSON

	mu   sync.Mutex
	next int
	seen []string
}

// New starts a model, until the end of the test.
func New(t testing.TB, script ...func(conversation string) Turn) *Model {
	t.Helper()
	m := &Model{Script: script}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.URL = server.URL
	return m
}

// Seen are the conversations as they were when the model was asked, the newest last.
func (m *Model) Seen() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

// ServeHTTP answers one request. One without tools is none of the script: it asks for a
// title or the like.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Model    string
		Messages json.RawMessage
		Tools    []json.RawMessage
	}
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") || json.NewDecoder(r.Body).Decode(&ask) != nil {
		http.NotFound(w, r)
		return
	}
	turn := Turn{Say: "A title"}
	if len(ask.Tools) > 0 {
		turn = m.turn(string(ask.Messages))
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events(ask.Model, turn) {
		text, err := json.Marshal(e)
		if err != nil {
			panic(err) // of a script
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], text)
	}
}

func (m *Model) turn(conversation string) Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	do := m.Script[min(m.next, len(m.Script)-1)]
	m.next++
	m.seen = append(m.seen, conversation)
	return do(conversation)
}

// events are a turn as it is streamed.
func events(model string, turn Turn) []map[string]any {
	block, delta, reason := map[string]any{"type": "text", "text": ""}, map[string]any{"type": "text_delta", "text": turn.Say}, "end_turn"
	if turn.Tool != "" {
		input, err := json.Marshal(turn.Input)
		if err != nil {
			panic(err) // of a script
		}
		block = map[string]any{"type": "tool_use", "id": "toolu_" + rand.Text(), "name": turn.Tool, "input": map[string]any{}}
		delta, reason = map[string]any{"type": "input_json_delta", "partial_json": string(input)}, "tool_use"
	}
	usage := map[string]any{"input_tokens": 1, "output_tokens": 1}
	return []map[string]any{
		{"type": "message_start", "message": map[string]any{
			"id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage,
		}},
		{"type": "content_block_start", "index": 0, "content_block": block},
		{"type": "content_block_delta", "index": 0, "delta": delta},
		{"type": "content_block_stop", "index": 0},
		{"type": "message_delta", "delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": usage},
		{"type": "message_stop"},
	}
}
