package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// printPlan prints what became of a plan, for people.
func printPlan(p paint, w io.Writer, s plan.Status) {
	fmt.Fprintln(w, p.outcome(s.Outcome, p.bold(s.Headline)))
	fmt.Fprintf(w, "%s\n\n", p.faint(fmt.Sprintf("%s: %s  sha256 %s, frozen %s", s.Plan, s.Title, s.Hash, s.Frozen.Local().Format("2006-01-02 15:04:05"))))
	wide := 0
	for _, it := range s.Items {
		wide = max(wide, len(it.ID)+1+len(it.Scenario))
	}
	for _, it := range s.Items {
		name := fmt.Sprintf("%-*s", wide, it.ID+" "+it.Scenario)
		fmt.Fprintf(w, "%s %s %s %s\n", p.bold(name), p.state(it.State, fmt.Sprintf("%-28s", it.State)),
			fmt.Sprintf("%d of %d", it.Planned-len(it.Missing), it.Planned), p.faint(it.Tier+", "+it.On))
		if it.State.ExitCode() != 0 && it.State != verdict.NotRun {
			fmt.Fprintf(w, "  %s\n", plain.Short(strings.TrimPrefix(it.Headline, string(it.State)+": ")))
		}
		for _, a := range it.Attempts {
			fmt.Fprintf(w, "  %s %s  %s\n", p.faint("attempt"), p.state(a.State, string(a.State)), p.faint(fmt.Sprintf("seed %d, run %s, root %.12s", a.Seed, a.RunID, a.Root)))
		}
		for _, run := range it.Running {
			fmt.Fprintf(w, "  %s %s\n", p.faint("not ended yet:"), run)
		}
		if it.Command != "" {
			fmt.Fprintf(w, "  %s    %s\n", p.faint("next"), p.faint(it.Command))
		}
	}
	fmt.Fprintln(w)
	for _, c := range s.Claims {
		word := p.good("enough    ")
		if !c.Enough {
			word = p.doubt("not enough")
		}
		fmt.Fprintf(w, "%s %-24s %s", word, c.Claim, p.faint("wanted "+c.Wanted))
		if len(c.Lacks) > 0 {
			fmt.Fprintf(w, "; lacks %s", strings.Join(c.Lacks, "; "))
		}
		fmt.Fprintln(w)
	}
	for _, m := range s.Mismatches {
		fmt.Fprintf(w, "%s   %s\n", p.bad("mismatch"), m)
	}
	for _, u := range s.NotCovered {
		fmt.Fprintf(w, "%s %s: %s\n", p.faint("not covered"), u.What, u.Why)
	}
}

// outcome colours the outcome of a plan.
func (p paint) outcome(o verdict.Outcome, text string) string {
	switch o.ExitCode() {
	case 0:
		return p.good(text)
	case 1:
		return p.bad(text)
	}
	return p.doubt(text)
}
