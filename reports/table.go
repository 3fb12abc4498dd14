package reports

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// A Table is what several runs show together of each claim that one of them failed.
type Table struct {
	Runs    int        `json:"runs"`
	Rows    []TableRow `json:"rows"`                // by claim, the worst first
	More    int        `json:"more_rows,omitempty"` // that were left out for want of room
	Passed  []string   `json:"passed"`              // claims that no run failed, and one at least passed
	Unknown []string   `json:"unknown,omitempty"`   // claims that no run could tell, or whose failure is held against nobody, each with its reason
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
	Runs    []string `json:"run_ids"`                  // those that failed it, or all for none
	Example string   `json:"example,omitempty"`        // a violation in the first of them
	At      string   `json:"at,omitempty"`             // its message, as stream/seq
	Held    []string `json:"held,omitempty"`           // after [Table.Failed]: runs in which it did not fail, by library
	Silent  []string `json:"could_not_tell,omitempty"` // after [Table.Failed]: likewise, libraries none of whose runs could tell
}

// Failed is the table without rows of runs that did not fail. The first row of each claim
// names them: by library, with their number and the first of them where they differ in
// anything else.
func (t Table) Failed() Table {
	rows := t.Rows
	t.Rows = []TableRow{}
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Claim == rows[0].Claim {
			n++
		}
		of := len(t.Rows)
		for _, r := range rows[:n] {
			if r.Failed > 0 {
				t.Rows = append(t.Rows, r)
			}
		}
		for _, r := range rows[:n] {
			switch first := &t.Rows[of]; {
			case r.Failed > 0:
			case r.Of == 0:
				first.Silent = append(first.Silent, r.named(first.Where))
			default:
				first.Held = append(first.Held, r.named(first.Where))
			}
		}
		rows = rows[n:]
	}
	return t
}

// named is a row of runs that did not fail, beside one of runs that did.
func (r TableRow) named(beside string) string {
	text := r.SDK
	if r.Where != beside && len(r.Runs) > 0 {
		text += strings.TrimSuffix(", "+r.Where, ", ") + ", " + r.Runs[0]
	}
	if r.Of > 1 {
		return fmt.Sprintf("%s: %d runs", text, r.Of)
	}
	return text
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
		text += "; that could not be told: " + strings.Join(t.Unknown, "; ")
	}
	return text
}
