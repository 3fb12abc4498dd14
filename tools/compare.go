package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports"
)

// CompareAnswer says what the differences between runs come from.
type CompareAnswer struct {
	Answer
	Table        *reports.Table    `json:"table,omitempty"`
	Attributions []AttributionLine `json:"attributions"` // the worst first
	Left         int               `json:"left_out"`     // attributions that did not fit
	Notes        []string          `json:"notes"`        // what was not compared with what
}

// An AttributionLine is one deviation and what it comes from.
type AttributionLine struct {
	Cause    reports.Cause `json:"cause"`             // protocol implementation, SDK version, SDK, broker, harness, environment, undecided
	Suspect  reports.Cause `json:"suspect,omitempty"` // of an undecided one
	Proof    string        `json:"proof,omitempty"`   // what decided it: wire, control, versions, protocol
	SDKs     string        `json:"sdks"`              // that deviate
	Where    string        `json:"where"`             // protocol, transport and broker
	Claims   []string      `json:"claims"`
	Source   string        `json:"source,omitempty"` // section of the specification
	Text     string        `json:"text"`
	Evidence []string      `json:"evidence"`
	Issue    string        `json:"issue,omitempty"`   // where upstream knows it
	Runs     []string      `json:"run_ids"`           // the first
	Decides  string        `json:"decides,omitempty"` // the call that would decide it, or prove it better
}

func (a *agent) compareRuns() Tool {
	type args struct {
		Runs []string `json:"run_ids"`
	}
	t := Tool{
		Name: "compare_runs",
		Description: "Attributes differences between runs of one scenario to broker, SDK, protocol implementation, harness or environment, or says which run would decide. " +
			"Runs on another broker are the control.",
		Params:  []Param{{Name: "run_ids", Type: Array, Items: String, Required: true, About: "two or more, judged", Example: `["latest"]`}},
		Example: `{"run_ids":["latest","latest"]}`,
		Hints:   Hints{ReadOnly: true},
	}
	return handler(t, func(_ context.Context, _ *Call, in args) (CompareAnswer, error) {
		if len(in.Runs) < 2 {
			return CompareAnswer{}, errors.New("compare_runs: run_ids needs two or more; get_run answers about one")
		}
		dirs, err := a.findAll(in.Runs)
		if err != nil {
			return CompareAnswer{}, err
		}
		c, err := a.backend.Compare(dirs)
		if err != nil {
			return CompareAnswer{}, fmt.Errorf("%w; get_run with its run_id waits for a run that has not ended", err)
		}
		return compared(c), nil
	})
}

// Bounds on an answer, which has to stay under 2,000 tokens: of its lists, and
// of all of it in bytes.
const (
	maxNotes      = 4
	maxRunIDs     = 4
	maxQuotes     = 2
	quoted        = 240
	compareBudget = 6_000
)

func compared(c campaigns.Comparison) CompareAnswer {
	out := CompareAnswer{Table: shortTable(&c.Table, answerBytes), Notes: shortened(c.Notes, maxNotes)}
	size, undecided := 0, false
	for i, a := range c.Attributions {
		line := attributionLine(a)
		text, _ := json.Marshal(line)
		if size += len(text); size > compareBudget && i > 0 {
			out.Left = len(c.Attributions) - i
			break
		}
		out.Attributions = append(out.Attributions, line)
		undecided = undecided || a.Cause == reports.CauseUndecided
	}
	next := []string{"push_report with these runs and your analysis", "run_scenario with another SDK, seed or flavor"}
	if undecided {
		next = []string{"make the calls in decides, then compare_runs with these run_ids and the new ones"}
	}
	out.Answer = answer(c.Headline, next...)
	return out
}

func attributionLine(a reports.Attribution) AttributionLine {
	line := AttributionLine{
		Cause: a.Cause, Suspect: a.Suspect, Proof: a.Proof, SDKs: plain.CutBytes(a.Versions, quoted), Where: a.Where(),
		Claims: a.Claims, Source: a.Source, Text: plain.CutBytes(a.Text, quoted), Evidence: shortened(a.Evidence, maxQuotes), Issue: a.Issue,
		Runs: firstOf(a.Runs, maxRunIDs),
	}
	if len(a.Next) > 0 {
		line.Decides = a.Next[0].Call
	}
	return line
}

// shortTable has the rows of runs that failed, as many as there is room for in bytes.
// Each names the first of its runs.
func shortTable(t *reports.Table, room int) *reports.Table {
	if t == nil {
		return nil
	}
	out := t.Failed()
	out.Unknown = shortened(t.Unknown, maxNotes)
	for i := range out.Rows {
		row := &out.Rows[i]
		row.Runs, row.Held, row.Silent = firstOf(row.Runs, maxRowRuns), firstOf(row.Held, maxHeld), firstOf(row.Silent, maxHeld)
		row.Example = plain.CutBytes(row.Example, briefly)
		if slices.ContainsFunc(out.Rows[:i], func(r reports.TableRow) bool { return r.Claim == row.Claim && r.Blame == row.Blame }) { // which has one
			row.Example, row.At = "", ""
		}
	}
	rows := fitting(out.Rows, room)
	out.More, out.Rows = len(out.Rows)-len(rows), rows
	return &out
}

// maxRowRuns and maxHeld are how many runs a row of a table names, and libraries that
// held its claim or could not tell.
const (
	maxRowRuns = 3
	maxHeld    = 6
)

// shortened are the first of a list, each cut to what an answer quotes.
func shortened(list []string, most int) []string {
	out := []string{}
	for _, s := range firstOf(list, most) {
		out = append(out, plain.CutBytes(s, quoted))
	}
	return out
}
