package finding

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// PartsFile parts findings, as [ParseParts] reads it. It is in the state directory, or in
// the folder that holds the published runs.
const PartsFile = "findings.parts"

// Load makes the findings of a state directory, of a copy that was published, or of a
// folder of runs. A report that cannot be read hides no other: a note names it.
func Load(root string) (Findings, error) { return LoadOf(root, func(string) bool { return true }) }

// LoadOf makes the findings of some of the runs there, by their ids.
func LoadOf(root string, some func(id string) bool) (Findings, error) {
	rows, err := reports.List(root, reports.Filter{})
	if err != nil {
		return Findings{}, err
	}
	rows = slices.DeleteFunc(rows, func(r reports.Row) bool { return !some(r.ID) })
	path := filepath.Join(root, PartsFile)
	text, err := stored.ReadFile(path, stored.MostText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Findings{}, fmt.Errorf("make findings: %w", err)
	}
	parts, err := ParseParts(string(text))
	if err != nil {
		return Findings{}, fmt.Errorf("make findings: %s: %w", path, err)
	}
	var notes []string
	runs, needed := make([]Run, len(rows)), needs(rows)
	for i, row := range rows {
		runs[i].Row = row
		if row.State == reports.Unfinished {
			notes = append(notes, fmt.Sprintf("run %s is left out: %s", row.ID, row.Headline))
		}
		if !needed(row) {
			continue
		}
		report, err := reports.Dir(row.Dir).Report()
		if err != nil {
			notes = append(notes, plain.Line(fmt.Sprintf("run %s is left out: %v", row.ID, err)))
			continue
		}
		runs[i].Report = trimmed(report)
		runs[i].Repeatable = completed(runs[i].Report, reports.Dir(row.Dir))
	}
	out := Make(runs, parts)
	out.Notes = append(notes, out.Notes...)
	return out, nil
}

// completed adds to a report what older ones do not say of how the run was made, from its
// evidence. It reports whether a replay finds all that it needs there.
func completed(r *reports.Report, dir reports.Dir) (repeatable bool) {
	run, err := dir.Record()
	if err != nil { // a published copy has none
		return false
	}
	r.Transport, r.LeftOut, r.Lowered, r.Wire = run.Transport, run.LeftOut, run.Lowered, run.Wire
	if again, err := dir.Reproduce(run); err == nil {
		r.Reproduce, r.NotChosen = again.Command, again.NotChosen
	}
	panicked := slices.ContainsFunc(r.Violations, func(v reports.Violations) bool { return v.Kind == verdict.KindPanic })
	if panicked && len(r.Panics) == 0 {
		if panics, cut, err := dir.Panics(r.Nodes); err == nil {
			r.Panics, r.PanicsCut = panics, cut
		}
	}
	_, err = os.Lstat(dir.File(reports.EvidenceDir, reports.StartFile))
	return err == nil
}

// trimmed is a report without all that no finding needs, which is most of it.
func trimmed(r *reports.Report) *reports.Report {
	out := &reports.Report{
		ID: r.ID, Scenario: r.Scenario, SDKs: r.SDKs, Transport: r.Transport, LeftOut: r.LeftOut, Lowered: r.Lowered, Wire: r.Wire, Cluster: r.Cluster, Nodes: r.Nodes, Coverage: r.Coverage, Complete: r.Complete,
		Verdict: r.Verdict, Shortfalls: r.Shortfalls, Landings: r.Landings, Violations: r.Violations, Panics: r.Panics, PanicsCut: r.PanicsCut, Harness: r.Harness, Reproduce: r.Reproduce, NotChosen: r.NotChosen, Blame: r.Blame, Matrix: r.Matrix, Series: r.Series,
	}
	out.Scenario.Text = ""
	return out
}
