package campaigns

import (
	"os"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A fault is reduced not only in its time and length but also in its strength,
// its links and its target. The parts that the failure needs are left.
func TestReduceFaultParameters(t *testing.T) {
	d := reduceJobDir(t, shrink.Rule{K: 1, N: 1}, 0)
	text, err := scenarios.Load("mqtt/broker-kill-9")
	if err != nil {
		t.Fatal(err)
	}
	s := *text
	s.Schedule = []scenarios.Step{
		{Fault: "kill_all", Target: "all"}, // it has no smaller target
		{AtS: 5, Fault: "loss", Target: "all", DurationS: 8, Params: map[string]any{"percent": 40, "with": "all", "seed": 9}},
		{AtS: 9, Fault: "packet_delay", Target: "clients", Params: map[string]any{"delay_ms": 500, "direction": "both", "duration_s": 9}},
	}
	whole, err := s.Markdown()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.Scenario(), whole, 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := d.Reduce(t.Context(), world(t, func(s *scenarios.Scenario) Judged {
		for _, step := range s.Schedule {
			if step.Fault == "loss" && asNumber(step.Params["percent"]) >= 8 && step.Params["with"] != "nodes" && step.Target != "leader" {
				return judged(verdict.FailOnce, lost)
			}
		}
		return judged(verdict.PassSmoke)
	}))
	if err != nil {
		t.Fatal(err)
	}
	left, err := scenarios.Load(r.Reduction.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	if len(left.Schedule) != 1 {
		t.Fatalf("left is\n%s", left.Text)
	}
	step := left.Schedule[0]
	if p := asNumber(step.Params["percent"]); step.Fault != "loss" || step.Target != "follower" || step.Params["with"] != "clients" || asNumber(step.Params["seed"]) != 9 || p < 8 || p > 10 {
		t.Errorf("left is %+v", step)
	}
	for _, want := range []string{"| loss with | all | clients |", "| loss percent | 40 | ", "| loss duration_s | 8 | 1 |", "| loss at_s | 5 | 0 |"} {
		if !strings.Contains(left.Prose, want) {
			t.Errorf("the prose does not say %q:\n%s", want, left.Prose)
		}
	}
	for _, s := range r.Reduction.Steps {
		if strings.Contains(s.Why, "kill_all") {
			t.Errorf("tried what can be no scenario: %+v", s)
		}
	}
}
