package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// Findings are a line each, and one of them is whole but for its many runs.
func TestListFindings(t *testing.T) {
	h := &host{}
	for i := range 60 {
		key := finding.Key{Claim: fmt.Sprintf("claim-%d", i), Kind: "lost", Party: verdict.Broker, Subject: "robustmq"}
		f := finding.Finding{ID: key.ID(), Key: key, Severity: verdict.P0, Smallest: finding.Reproduction{RunID: "a", Scenario: "mqtt/kill", Times: reports.Times{Failed: 2, Of: 3}}}
		for n := range 40 {
			f.Runs = append(f.Runs, finding.RunLine{RunID: fmt.Sprint(n), Example: strings.Repeat("x", 500)})
		}
		h.found.Findings = append(h.found.Findings, f)
	}
	c := connectTo(t, h.server(t, Options{}))
	got := structured(t, callTool(t, c, "list_findings", nil))
	list, _ := got["findings"].([]any)
	if len(list) < 20 || float64(len(list))+got["left_out"].(float64) != 60 || list[0].(map[string]any)["fails_in"] != "2 of 3" {
		t.Errorf("%d lines: %v", len(list), got["summary"])
	}
	answered := callTool(t, c, "list_findings", map[string]any{"finding": h.found.Findings[7].ID})
	one, _ := structured(t, answered)["finding"].(map[string]any)
	if runs, _ := one["runs"].([]any); structured(t, answered)["more_runs"] != float64(36) || one["claim"] != "claim-7" || len(runs) != findingRuns || len(textOf(answered)) > 4500 {
		t.Errorf("%s", textOf(answered))
	}
	if text := textOf(callTool(t, c, "list_findings", map[string]any{"finding": "claim"})); !strings.Contains(text, "no finding") {
		t.Errorf("none of that name: %s", text)
	}
	h.found = finding.Findings{Notes: []string{"run a is left out: not readable", "b", "c", "d", "e"}}
	if text := textOf(callTool(t, c, "list_findings", nil)); !strings.Contains(text, "no stored run shows a failure") || !strings.Contains(text, "not readable") || !strings.Contains(text, "… 2 more") {
		t.Errorf("none at all: %s", text)
	}
}
