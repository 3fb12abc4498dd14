package museum

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// An Outcome is what the trials say of an exhibit.
type Outcome string

// Outcomes.
const (
	Named    Outcome = "named"   // a run of the affected version names claim and party, and the fixed version passes
	Checked  Outcome = "checked" // likewise, by a check of conformance alone
	Missed   Outcome = "missed"  // no trial names it, or a claim fails in the fixed version too
	NotTried Outcome = "not tried"
)

// Outcome is what the trials say of an exhibit.
func (e Exhibit) Outcome(r Result) Outcome {
	named, of := r.Named(e.Affected)
	clean, fails := e.fixed(r)
	switch {
	case of == 0 && e.Missed != "", of > 0 && named == 0, fails > 0:
		return Missed
	case of == 0, e.Fixed != "" && clean == 0:
		return NotTried
	case e.Check != "":
		return Checked
	}
	return Named
}

// fixed counts the clean trials of the fixed version, and those with a failure of one of the
// exhibit's claims.
func (e Exhibit) fixed(r Result) (clean, fails int) {
	for _, t := range r.Trials {
		if t.Version != e.Fixed {
			continue
		}
		if t.Clean {
			clean++
		}
		if t.Named || slices.ContainsFunc(t.Failed, func(claim string) bool { return slices.Contains(e.Claims, claim) }) {
			fails++
		}
	}
	return clean, fails
}

// A Row is an exhibit with what its trials showed.
type Row struct {
	Exhibit Exhibit
	Result  Result
}

// Rows are exhibits with what is stored of them in a state directory.
func Rows(state string, list []Exhibit) (rows []Row) {
	for _, e := range list {
		rows = append(rows, Row{e, Stored(state, e)})
	}
	return rows
}

// Score says in a sentence how many defects were found.
func Score(rows []Row) string {
	n := map[Outcome]int{}
	for _, r := range rows {
		n[r.Exhibit.Outcome(r.Result)]++
	}
	text := fmt.Sprintf("A run names %d of %d defects that other people reported, by the right claim and party; a conformance check finds %d more, and %d are missed", n[Named], len(rows), n[Checked], n[Missed])
	if n[NotTried] > 0 {
		text += fmt.Sprintf("; %d were not tried", n[NotTried])
	}
	return text + "."
}

// Table is the rows as Markdown.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| Defect | | Party | Affected | Fixed | Shown by | Found: affected | Found: fixed |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		e := r.Exhibit
		fmt.Fprintf(&b, "| `%s` | %s %s ([%s](%s)) | %s | %s | %s | %s | %s | %s |\n",
			e.Name, e.Product(), e.What, e.reportName(), e.Report, e.partyName(), e.Affected, cmp.Or(e.Fixed, "–"), e.shownBy(), r.cell(e.Affected), r.cell(e.Fixed))
	}
	return b.String()
}

// cell is how often a version was named.
func (r Row) cell(version string) string {
	if version == "" {
		return "–"
	}
	named, of := r.Result.Named(version)
	switch {
	case of == 0 && r.Exhibit.Missed != "" && version == r.Exhibit.Affected:
		return "missed: " + r.Exhibit.Missed
	case of == 0 && r.Exhibit.Missed != "":
		return "–"
	case of == 0:
		return string(NotTried)
	}
	text := fmt.Sprintf("%d of %d", named, of)
	if version == r.Exhibit.Affected && r.Exhibit.Outcome(r.Result) == Missed {
		text += ", **missed**"
		if r.Exhibit.Missed != "" {
			text += ": " + r.Exhibit.Missed
		}
	}
	return text
}

func (e Exhibit) partyName() string {
	if e.Party == verdict.SDK {
		return "library"
	}
	return string(e.Party)
}

// reportName is the number of a report, as #7643, or the name of a file.
func (e Exhibit) reportName() string {
	name, _, _ := strings.Cut(path.Base(e.Report), "#")
	if kind := path.Base(path.Dir(e.Report)); kind == "issues" || kind == "pull" {
		return "#" + name
	}
	return name
}

// shownBy is the scenario or the check, with the claims.
func (e Exhibit) shownBy() string {
	switch {
	case e.Check != "":
		return "check `" + e.Check + "`"
	case e.Scenario == "":
		return "–"
	}
	name := e.Scenario
	if e.own() {
		name = strings.TrimSuffix(path.Base(name), ".md")
	}
	return fmt.Sprintf("`%s`: `%s`", name, strings.Join(e.Claims, "`, `"))
}
