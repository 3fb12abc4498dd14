package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

func TestFreezePlan(t *testing.T) {
	h := &host{runs: runsDir(t), planned: plan.Status{
		Plan: "leader-crash", Hash: strings.Repeat("ab", 32), Frozen: time.Unix(0, 0).UTC(),
		SessionVerdict: verdict.SessionVerdict{Outcome: verdict.OutcomeConcerns, Headline: "DONE_WITH_CONCERNS: 1 of 2 scenarios pass"},
		Items: []plan.ItemLine{
			{ID: "S1", Scenario: "mqtt/qos-roundtrip", State: verdict.PassSmoke, Headline: "PASS-smoke", Planned: 1, Attempts: []plan.Attempt{{RunID: "run-1"}}},
			{ID: "S2", Scenario: "mqtt/broker-kill-9", State: verdict.NotRun, Planned: 2, Missing: []int64{11, 12}, Call: `run_scenario {"seed":11}`},
		},
	}}
	c := connectTo(t, h.server(t, Options{}))
	freeze := func(text string) map[string]any {
		return structured(t, callTool(t, c, "freeze_plan", map[string]any{"plan": text}))
	}
	if got := freeze("example"); got["summary"] != plan.Example {
		t.Errorf("example: %v", got["summary"])
	}
	for _, text := range []string{plan.Example, "latest"} {
		got := freeze(text)
		items := got["scenarios"].([]any)
		if len(items) != 2 || items[1].(map[string]any)["attempts_missing"] != 2.0 || got["outcome"] != "DONE_WITH_CONCERNS" {
			t.Errorf("%v", got)
		}
		if next := got["next_steps"].([]any)[0].(string); !strings.Contains(next, `run_scenario {"seed":11}`) {
			t.Errorf("next: %s", next)
		}
	}
	for _, bad := range []struct{ text, want string }{
		{strings.Replace(plan.Example, "mqtt/qos-roundtrip", "/etc/passwd.md", 1), "those of the library"},
		{strings.Replace(plan.Example, "nodes: 3, sdk", "nodes: 9, sdk", 1), "max_nodes"},
		{"nobody", "no frozen plan nobody; freeze_plan with the text"},
		{"no\nfront matter", "not_covered:"},
	} {
		result := callTool(t, c, "freeze_plan", map[string]any{"plan": bad.text})
		if !result.IsError || !strings.Contains(textOf(result), bad.want) {
			t.Errorf("%.20s: %s", bad.text, textOf(result))
		}
	}
}

// A plan of many scenarios leaves some out rather than fill an agent's context.
func TestFreezePlanIsBounded(t *testing.T) {
	var s plan.Status
	for i := range 100 {
		s.Items = append(s.Items, plan.ItemLine{ID: fmt.Sprint("S", i), Missing: []int64{0}, Call: strings.Repeat("x", 200)})
	}
	got := planned(s)
	if got.Left == 0 || len(got.Scenarios)+got.Left != 100 || !strings.Contains(got.NextSteps[0], "xxx") {
		t.Errorf("%d scenarios, %d left out", len(got.Scenarios), got.Left)
	}
}

// A run says which plans it is an attempt of.
func TestGetRunOfAPlan(t *testing.T) {
	dir := runsDir(t)
	if err := reports.WritePlans(filepath.Join(dir, "latest"), []reports.PlanPlace{{Plan: "leader-crash", SHA256: strings.Repeat("ab", 32), Item: "S2"}}); err != nil {
		t.Fatal(err)
	}
	c := connectTo(t, (&host{runs: dir}).server(t, Options{}))
	got := structured(t, callTool(t, c, "get_run", map[string]any{"run_id": "latest"}))
	if plans := fmt.Sprint(got["plans"]); plans != "[S2 of plan leader-crash (abababababab)]" {
		t.Errorf("%s", plans)
	}
}
