package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// PlanAnswer is a frozen plan and what became of it.
type PlanAnswer struct {
	Answer
	Plan       string           `json:"plan"`
	Hash       string           `json:"sha256"` // quote it with the headline
	Frozen     string           `json:"frozen"`
	Outcome    verdict.Outcome  `json:"outcome"`
	Scenarios  []PlanItem       `json:"scenarios"`
	Left       int              `json:"left_out"` // scenarios that did not fit
	Claims     []plan.ClaimLine `json:"claims"`
	Mismatches []string         `json:"mismatches"` // the frozen one counts
	NotCovered []plan.Uncovered `json:"not_covered"`
}

// A PlanItem is one scenario of a plan.
type PlanItem struct {
	ID       string        `json:"id"`
	Scenario string        `json:"scenario"`
	Tier     string        `json:"tier"`
	State    verdict.State `json:"state"`
	Headline string        `json:"headline,omitempty"`
	Planned  int           `json:"attempts_planned"`
	Missing  int           `json:"attempts_missing"`
	Runs     []string      `json:"run_ids"`        // of the attempts, and of those that have not ended
	Next     string        `json:"next,omitempty"` // the call that makes the next attempt
}

func (a *agent) freezePlan() Tool {
	type args struct {
		Plan string `json:"plan"`
	}
	t := Tool{
		Name:        "freeze_plan",
		Description: "Lints a test plan and freezes it by hash before you run it, or says what is missing of it. Runs count as attempts by their record.",
		Params:      []Param{{Name: "plan", Type: String, Required: true, Most: mostPlan, About: "Markdown, as \"example\" returns it; or name, hash or latest of a frozen one"}},
		Example:     `{"plan":"latest"}`,
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (PlanAnswer, error) {
		switch {
		case strings.TrimSpace(in.Plan) == "example":
			return PlanAnswer{Answer: answer(plan.Example, "freeze_plan with a plan of your own in this form")}, nil
		case !strings.Contains(in.Plan, "\n"):
			s, err := a.backend.Plan(in.Plan)
			if err != nil {
				return PlanAnswer{}, fmt.Errorf("%w; freeze_plan with the text of a plan freezes it, with example shows one. Nothing was changed", err)
			}
			return planned(s), nil
		}
		s, err := a.backend.FreezePlan(ctx, in.Plan, a.envelope, call.Caller)
		if err != nil {
			return PlanAnswer{}, err
		}
		return planned(s), nil
	})
}

// planBudget is how many bytes an answer has for its scenarios.
const planBudget = 5_000

func planned(s plan.Status) PlanAnswer {
	out := PlanAnswer{Plan: s.Plan, Hash: s.Hash, Frozen: s.Frozen.Format("2006-01-02T15:04:05Z07:00"), Outcome: s.Outcome,
		Claims: s.Claims, Mismatches: shortened(s.Mismatches, maxNotes), NotCovered: s.NotCovered}
	next, size := "push_report with the runs of the attempts and this hash", 0
	for i, it := range s.Items {
		line := planItem(it)
		if line.Next != "" && strings.HasPrefix(next, "push_report") {
			next = "make the attempts that are missing: " + line.Next
		}
		text, _ := json.Marshal(line)
		if size += len(text); size > planBudget && out.Left == 0 {
			out.Left = len(s.Items) - i
		}
		if out.Left == 0 {
			out.Scenarios = append(out.Scenarios, line)
		}
	}
	out.Answer = answer(s.Headline, next, "freeze_plan with this sha256 for what became of it")
	return out
}

func planItem(it plan.ItemLine) PlanItem {
	line := PlanItem{ID: it.ID, Scenario: it.Scenario, Tier: it.Tier, State: it.State, Planned: it.Planned, Missing: len(it.Missing), Next: it.Call}
	if len(it.Attempts) > 0 {
		line.Headline = plain.CutBytes(it.Headline, quoted)
	}
	for _, attempt := range it.Attempts {
		line.Runs = append(line.Runs, attempt.RunID)
	}
	line.Runs = append(line.Runs, it.Running...)
	return line
}
