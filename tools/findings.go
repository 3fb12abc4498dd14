package tools

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// FindingsAnswer are findings, the most severe first, or one of them.
type FindingsAnswer struct {
	Answer
	Findings []FindingLine    `json:"findings"`
	Left     int              `json:"left_out"`          // findings that did not fit
	Finding  *finding.Finding `json:"finding,omitempty"` // the one that was named
}

// A FindingLine is one finding.
type FindingLine struct {
	ID       string        `json:"id"`
	Severity string        `json:"severity"`
	Party    verdict.Party `json:"party"`
	Kind     string        `json:"kind"`
	Smallest string        `json:"smallest"` // scenario that shows it
	Times    string        `json:"fails_in"` // runs of that scenario: 2 of 3
}

// findingRuns is how many runs an answer shows of a finding.
const findingRuns = 4

func (a *agent) listFindings() Tool {
	type args struct {
		Finding string `json:"finding"`
	}
	t := Tool{
		Name:        "list_findings",
		Description: "Findings of the stored runs, each violation with one cause once; or one of them whole.",
		Params:      []Param{{Name: "finding", Type: String}},
		Example:     `{}`,
		Hints:       Hints{ReadOnly: true},
	}
	return handler(t, func(_ context.Context, _ *Call, in args) (FindingsAnswer, error) {
		all, err := a.backend.Findings()
		if err != nil {
			return FindingsAnswer{}, err
		}
		if in.Finding != "" {
			f, err := finding.Find(all, in.Finding)
			if err != nil {
				return FindingsAnswer{}, fmt.Errorf("list_findings: %w", err)
			}
			f.Runs = f.Runs[:min(len(f.Runs), findingRuns)]
			for i := range f.Runs {
				f.Runs[i].Example = shorten(f.Runs[i].Example, briefly)
			}
			return FindingsAnswer{Answer: answer(f.String(), fmt.Sprintf("get_run with run_id %q, view anomalies", f.Smallest.RunID), fmt.Sprintf("replay_run with run_id %q", f.Smallest.RunID)), Finding: &f}, nil
		}
		var lines []FindingLine
		for _, f := range all {
			lines = append(lines, FindingLine{ID: f.ID, Severity: f.Severity, Party: f.Party, Kind: f.Kind, Smallest: f.Smallest.Scenario, Times: fmt.Sprintf("%d of %d", f.Smallest.Failed, f.Smallest.Of)})
		}
		out := FindingsAnswer{Findings: fitting(lines, answerBytes)}
		out.Left = len(lines) - len(out.Findings)
		out.Answer = answer(plural(len(lines), "finding"), "list_findings with the id of one")
		if len(lines) == 0 {
			out.Answer = answer("no stored run failed by the doing of a broker or a library", "list_runs", "run_scenario makes a run")
		}
		return out, nil
	})
}
