package reports

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// A Table is what several runs show together of each claim that one of them failed.
type Table struct {
	Runs    int        `json:"runs"`
	Rows    []TableRow `json:"rows"`              // by claim, the worst first
	Passed  []string   `json:"passed"`            // claims that no run failed, and one at least passed
	Unknown []string   `json:"unknown,omitempty"` // claims that no run could tell
}

// A TableRow is one claim in the runs that have everything in common: it failed in k
// of n.
type TableRow struct {
	Claim   string   `json:"claim"`
	SDK     string   `json:"sdk"`
	Where   string   `json:"where,omitempty"` // what else the runs of the table differ in: mosquitto 2.0.18, no faults
	Failed  int      `json:"failed"`
	Of      int      `json:"of"`                // runs that passed or failed it
	Unknown int      `json:"unknown,omitempty"` // runs beside them, which could not tell
	Count   string   `json:"count,omitempty"`   // violations in each failed run: 20, or 14 to 20
	Blame   string   `json:"blame,omitempty"`
	Runs    []string `json:"run_ids"` // those that failed it, or all for none
}

// String is the table for people, a line each row. It is empty where no run failed
// anything.
func (t Table) String() string {
	if len(t.Rows) == 0 {
		return ""
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	claim := ""
	for _, r := range t.Rows {
		name := r.Claim
		if name == claim {
			name = ""
		}
		claim = r.Claim
		fmt.Fprintln(w, strings.Join([]string{name, r.SDK, r.Where, r.Times(), r.Count, r.Blame}, "\t"))
	}
	w.Flush()
	lines := strings.Split(out.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + t.rest() + "\n"
}

// Times is in how many runs the claim failed.
func (r TableRow) Times() string {
	text := fmt.Sprintf("%d of %d", r.Failed, r.Of)
	if r.Unknown > 0 {
		text += fmt.Sprintf(", %d could not tell", r.Unknown)
	}
	return text
}

// rest is what the rows do not say.
func (t Table) rest() string {
	text := fmt.Sprintf("%d runs; other claims that passed: %d", t.Runs, len(t.Passed))
	if len(t.Unknown) > 0 {
		text += "; that could not be told: " + strings.Join(t.Unknown, ", ")
	}
	return text
}
