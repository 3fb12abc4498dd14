package tools

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// FindingsAnswer are findings, the most severe first, or one of them.
type FindingsAnswer struct {
	Answer
	Findings []FindingLine    `json:"findings"`
	Left     int              `json:"left_out"`            // findings that did not fit
	Notes    []string         `json:"notes,omitempty"`     // failures that are no finding, the first of many
	Finding  *finding.Finding `json:"finding,omitempty"`   // the one that was named
	MoreRuns int              `json:"more_runs,omitempty"` // of it, that did not fit
	MoreSeen int              `json:"more_seen,omitempty"` // likewise
}

// A FindingLine is one finding.
type FindingLine struct {
	ID       string        `json:"id"`
	Severity string        `json:"severity"`
	Party    verdict.Party `json:"party"`
	Way      string        `json:"fails_as"`
	Smallest string        `json:"smallest"` // scenario that shows it
	Times    string        `json:"fails_in"` // runs of that scenario: 2 of 3
	Status   string        `json:"status"`
}

// Most that an answer shows.
const (
	findingRuns  = 4  // runs of a finding
	findingSeen  = 12 // setups of a finding
	findingNotes = 3
)

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
			return oneFinding(all, in.Finding)
		}
		var lines []FindingLine
		for _, f := range all.Findings {
			lines = append(lines, FindingLine{ID: f.ID, Severity: f.Severity, Party: f.Party, Way: f.Way(), Smallest: f.Smallest.Scenario, Times: f.Smallest.FailsIn(), Status: f.Status.String()})
		}
		out := FindingsAnswer{Findings: fitting(lines, answerBytes), Notes: firstOf(all.Notes, findingNotes)}
		out.Left = len(lines) - len(out.Findings)
		out.Answer = answer(plural(len(lines), "finding"), "list_findings with the id of one")
		if len(lines) == 0 {
			out.Answer = answer("no stored run shows a failure by the doing of a broker or a library", "list_runs", "run_scenario makes a run")
		}
		return out, nil
	})
}

// oneFinding is one finding whole, but for what is many.
func oneFinding(all finding.Findings, id string) (FindingsAnswer, error) {
	f, err := all.Find(id)
	if err != nil {
		return FindingsAnswer{}, fmt.Errorf("list_findings: %w", err)
	}
	out := FindingsAnswer{Finding: &f, MoreRuns: max(0, len(f.Runs)-findingRuns), MoreSeen: max(0, len(f.Seen)-findingSeen)}
	out.Answer = answer(fmt.Sprintf("%s; %s", f, "in "+plural(len(f.Runs), "run")), fmt.Sprintf("get_run with run_id %q, view anomalies", f.Smallest.RunID))
	if f.Smallest.Command != "" {
		out.NextSteps = append(out.NextSteps, fmt.Sprintf("replay_run with run_id %q", f.Smallest.RunID))
	}
	f.Runs, f.Seen = f.Runs[:len(f.Runs)-out.MoreRuns], f.Seen[:len(f.Seen)-out.MoreSeen]
	for i := range f.Runs {
		f.Runs[i].Example = plain.CutBytes(f.Runs[i].Example, briefly)
	}
	return out, nil
}
