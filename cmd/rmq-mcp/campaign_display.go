package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// roundLine is a run of a campaign as one line.
func roundLine(p paint, r campaigns.Round) string {
	if r.Error != "" {
		return fmt.Sprintf("%4d %s %s: %s", r.N, p.doubt("!"), r.Title, plain.Short(r.Error))
	}
	sign, text := "?", string(r.State)
	switch r.State.ExitCode() {
	case 0:
		sign = "✓"
	case 1:
		sign, text = "✗", fmt.Sprintf("%s: %s", r.State, r.Failed)
		if len(r.Failed) == 0 {
			text = fmt.Sprintf("%s, known: %s", r.State, strings.Join(r.Known, "; "))
		}
	}
	landed := fmt.Sprintf("%d of %d landed", len(r.Landed), len(r.Landed)+len(r.Missed))
	return fmt.Sprintf("%4d %s %3.0f s  %s; %s\n         %s", r.N, p.state(r.State, sign), r.DurationS, r.Title, landed, p.state(r.State, plain.Cut(text, plain.ShortLine)))
}

// printCampaign prints what a campaign shows, for people.
func printCampaign(out io.Writer, dir string, sum campaigns.SearchSummary, stopped bool) error {
	p := paintTo(out)
	for _, t := range sum.Tables() {
		fmt.Fprintf(out, "\n%s\n", p.bold(t.Title))
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, row := range append([][]string{t.Head}, t.Rows...) {
			for i := range row {
				row[i] = plain.Cut(row[i], maxColumn)
			}
			fmt.Fprintf(w, "  %s\n", strings.Join(row, "\t"))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%s\n", p.bold(sum.Headline))
	if stopped {
		fmt.Fprintln(out, "stopped; the same command resumes")
	}
	_, err := fmt.Fprintf(out, "report %s\n", filepath.Join(dir, campaigns.SearchMarkdown))
	return err
}

// maxColumn is what a table shows of one thing; the report has it whole.
const maxColumn = 100
