package tools

import (
	"strings"
	"testing"
)

// A server offers find_code where its operator named a source, and not else.
func TestFindCode(t *testing.T) {
	h := &host{runs: runsDir(t)}
	c := connectTo(t, h.server(t, Options{}))
	got := structured(t, callTool(t, c, "find_code", map[string]any{"id": "latest", "texts": []string{"a"}}))
	places, _ := got["places"].([]any)
	if len(places) != 1 || places[0].(map[string]any)["at"] != "src/a.rs:7" || places[0].(map[string]any)["source"] != "7 x.unwrap()\n" || got["tree"] != "robustmq at v0.4.11" {
		t.Errorf("%v", got)
	}
	backend := h.backend()
	backend.Code = nil
	without, err := New(Options{Backend: backend})
	if err != nil {
		t.Fatal(err)
	}
	if list := string(listRaw(t, without)); strings.Contains(list, "find_code") || !strings.Contains(list, "list_findings") {
		t.Error("find_code is offered where there is no source")
	}
}
