package selftest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

func orNobody(p verdict.Party) string {
	if p == "" {
		return "nobody"
	}
	return string(p)
}

func blamed(blame string) string {
	if blame == "" {
		return "nobody is blamed"
	}
	return "blame " + plain.Cut(blame, 120)
}

// Table is the rows as Markdown.
func Table(rows []Row) string {
	if len(rows) > 0 && rows[0].SDK != "" {
		return cells(rows)
	}
	return lines(rows)
}

// cells is the rows as Markdown, a line for each defect and a column for each
// client: by rate, how many violations were found, and how often the defect showed.
func cells(rows []Row) string {
	var columns, names []string
	what, claims, cells := map[string]string{}, map[string][]string{}, map[[2]string][]string{}
	for _, r := range rows {
		column := strings.TrimSpace(r.client())
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
		name := r.Name + "\x00" + r.What // as it should be, on several scenarios
		if what[name] == "" {
			names = append(names, name)
			what[name] = fmt.Sprintf("| `%s` | %s ", r.Name, r.What)
		}
		for _, claim := range r.Failed {
			if !slices.Contains(claims[name], claim) {
				claims[name] = append(claims[name], claim)
			}
		}
		cells[[2]string{name, column}] = append(cells[[2]string{name, column}], r.cell())
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| Defect | What it does | Claims that fail | %s |\n|---|---|---|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, name := range names {
		fmt.Fprintf(&b, "%s| %s |", what[name], strings.Join(claims[name], ", "))
		for _, column := range columns {
			fmt.Fprintf(&b, " %s |", strings.Join(cells[[2]string{name, column}], ", "))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// cell is the number of violations, and how often the defect showed. The violations are those of the
// claim closest to the defect: a damaged message is lost as well, and a repeated one out of order.
func (row *Row) cell() string {
	switch {
	case row.Lacks != "" || !row.Right:
		return row.found()
	case row.Shown == nil || len(row.Failed) == 0:
		return string(row.State)
	}
	var found int64
	for _, n := range row.Violations {
		switch enough := n >= *row.Shown; {
		case found < *row.Shown:
			found = max(found, n)
		case enough:
			found = min(found, n)
		}
	}
	return fmt.Sprintf("%d of %d", found, *row.Shown)
}

// lines is the rows as Markdown, one line for all rates of a defect.
func lines(rows []Row) string {
	var b strings.Builder
	b.WriteString("| Whose | | What it does | Claims that fail | Blame | Found |\n|---|---|---|---|---|---|\n")
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Who == rows[0].Who && rows[n].What == rows[0].What {
			n++
		}
		same := rows[:n]
		rows = rows[n:]
		var failed, found []string
		for _, r := range same {
			for _, claim := range r.Failed {
				if !slices.Contains(failed, claim) {
					failed = append(failed, claim)
				}
			}
			found = append(found, r.found())
		}
		party, _, _ := strings.Cut(same[0].Blame, ":")
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %s |\n", same[0].Who, same[0].Name, same[0].What, strings.Join(failed, ", "), orNobody(verdict.Party(party)), strings.Join(found, ", "))
	}
	return b.String()
}

// found is the cell of one row.
func (row *Row) found() string {
	switch {
	case row.Lacks != "":
		return "not tried"
	case !row.Right && row.Every > 0:
		return fmt.Sprintf("**wrong at 1 in %d**%s", row.Every, row.Wrong)
	case !row.Right:
		return "**wrong**" + row.Wrong
	case row.always:
		return "each time"
	case row.Every > 0:
		return fmt.Sprintf("1 in %d", row.Every)
	}
	return "right"
}
