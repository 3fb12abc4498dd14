package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/verdict"
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
	return "blame " + brief(blame, 120)
}

// brief is the beginning of a text.
func brief(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// table is the rows as Markdown.
func (t selftesting) table(rows []SelftestRow) string {
	if len(rows) > 0 && rows[0].SDK != "" {
		return selftestCells(rows)
	}
	return selftestTable(rows)
}

// selftestCells is the rows as Markdown, each with how often its defect showed, and how
// many violations of each claim there are.
func selftestCells(rows []SelftestRow) string {
	var b strings.Builder
	b.WriteString("| Defect | What it does | Client | Protocol | Shown | Claims that fail, with their violations | Verdict | Blame | Found |\n|---|---|---|---|---:|---|---|---|---|\n")
	for _, r := range rows {
		shown := ""
		if r.Shown != nil {
			shown = fmt.Sprint(*r.Shown)
		}
		party, _, _ := strings.Cut(r.Blame, ":")
		var failed []string
		for _, claim := range r.Failed {
			failed = append(failed, fmt.Sprintf("%s %d", claim, r.Violations[claim]))
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name(), r.What, r.SDK, r.Protocol, shown, strings.Join(failed, ", "), r.State, orNobody(verdict.Party(party)), r.found())
	}
	return b.String()
}

// selftestTable is the rows as Markdown, one line for all rates of a defect.
func selftestTable(rows []SelftestRow) string {
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
func (row *SelftestRow) found() string {
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
