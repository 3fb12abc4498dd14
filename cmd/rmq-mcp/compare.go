package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports"
)

func (a *app) compare() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare RUN RUN...",
		Short: "Compare runs and attribute their differences",
		Long: "Judges each run again and attributes each deviation: to the protocol implementation, one version of an SDK, the broker,\n" +
			"the harness or the environment; or says what would decide it.\n" +
			"Exit status: 0 nothing deviates, 1 something is broken, 2 that could not be told.",
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, refs []string) error {
			dirs, err := a.findAll(refs)
			if err != nil {
				return err
			}
			c, err := campaigns.CompareRuns(dirs)
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), c)
			} else {
				printComparison(paintFor(os.Stdout), cmd.OutOrStdout(), c)
			}
			if code := c.ExitCode(); err == nil && code != 0 {
				return exit(code)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the comparison as JSON")
	return cmd
}

// printComparison prints what runs show together, for people.
func printComparison(p paint, w io.Writer, c campaigns.Comparison) {
	fmt.Fprintln(w, p.bold(c.Headline))
	if table := c.Table.String(); table != "" {
		fmt.Fprintf(w, "\n%s", table)
	}
	for _, a := range c.Attributions {
		fmt.Fprintf(w, "\n%s %s\n", p.cause(a.Cause, a.Words()), p.faint(a.Where()))
		for i, claim := range a.Claims {
			source := ""
			if i == 0 && a.Source != "" {
				source = p.faint(" (" + a.Source + ")")
			}
			fmt.Fprintf(w, "  %s    %s%s\n", p.faint("fails"), claim, source)
		}
		fmt.Fprintf(w, "  %s\n", plain.Short(a.Text))
		for _, line := range a.Evidence {
			fmt.Fprintf(w, "  %s %s\n", p.faint("evidence"), plain.Short(line))
		}
		if a.Issue != "" {
			fmt.Fprintf(w, "  %s %s\n", p.faint("upstream"), a.Issue)
		}
		for _, step := range a.Next {
			fmt.Fprintf(w, "  %s     %s\n           %s\n", p.faint("next"), step.Why, step.Command)
		}
	}
	for _, note := range c.Notes {
		fmt.Fprintf(w, "\n%s %s\n", p.faint("note"), note)
	}
}

// cause colours an attribution by whether something is broken.
func (p paint) cause(c reports.Cause, text string) string {
	if c.Broken() {
		return p.bad(text)
	}
	return p.doubt(text)
}
