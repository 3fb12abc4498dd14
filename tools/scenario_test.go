package tools

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/scenarios"
)

func TestListScenariosAsksWhatItIsAsked(t *testing.T) {
	h := &host{}
	c := connectTo(t, h.server(t, Options{}))
	none := callTool(t, c, "list_scenarios", map[string]any{"claim": "qos2-exactly-once", "flavor": "external", "protocol": "mq9", "faults": false})
	if text := textOf(none); none.IsError || !strings.Contains(text, "no scenario of the library fits") || !strings.Contains(text, "list_scenarios with less asked") {
		t.Errorf("%s", text)
	}
	callTool(t, c, "list_scenarios", nil)
	limits := envelope.Default("/state")
	want := []scenarios.Query{
		{Claim: "qos2-exactly-once", Flavor: "external", Protocol: "mq9", Faults: new(bool)},
		{Claim: "qos2-exactly-once", Flavor: "external", Protocol: "mq9", Faults: new(bool), Limits: &limits},
		{},
		{Limits: &limits},
	}
	if diff := cmp.Diff(want, h.asked); diff != "" {
		t.Error(diff)
	}
}

// A scenario that the operator's limits refuse is not offered, and is counted.
func TestListScenariosKeepsTheLimits(t *testing.T) {
	limits := envelope.Default("/state")
	limits.AllowedFaults = []string{"pause"}
	c := connectTo(t, (&host{}).server(t, Options{Envelope: limits}))
	got := structured(t, callTool(t, c, "list_scenarios", nil))
	if text := got["summary"].(string); len(got["scenarios"].([]any)) != 1 || !strings.Contains(text, "refuse faults of 1 more") {
		t.Errorf("%v", got)
	}
}
