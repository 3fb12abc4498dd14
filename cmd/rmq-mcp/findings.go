package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports"
)

func (a *app) findings() *cobra.Command {
	var asJSON bool
	var out string
	cmd := &cobra.Command{
		Use:   "findings [ID]",
		Short: "List the findings of all runs, each violation with one cause once",
		Long: "Makes findings of all stored runs: a violated claim with one cause, the versions with and without it, the runs\n" +
			"that show it, and the smallest scenario that does. With an ID, or the beginning of one, everything about that one.\n" +
			"Two that were taken for one are parted by a line in findings.parts in the state directory: ID RUN [RUN …]: TITLE (docs/findings.md).",
		Example: "  rmq-mcp findings\n  rmq-mcp findings robustmq-qos1-no-loss\n  rmq-mcp findings --out findings",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out != "" && (asJSON || len(args) > 0) {
				return errors.New("--out writes all findings as pages and as JSON; leave out --json and the ID")
			}
			dir, err := a.reading()
			if err != nil {
				return err
			}
			all, err := finding.Load(dir)
			if err != nil {
				return err
			}
			if out != "" {
				return writeFindings(cmd.OutOrStdout(), out, dir, all)
			}
			if len(args) == 0 {
				if asJSON {
					return writeJSON(cmd.OutOrStdout(), all)
				}
				return printFindings(cmd.OutOrStdout(), all)
			}
			f, err := all.Find(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), f)
			}
			return printFinding(cmd.OutOrStdout(), f)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&out, "out", "", "write a page and a document of each into this `directory`")
	cmd.AddCommand(a.findingsReplay(), a.findingsIssues())
	return cmd
}

// writeFindings writes a page of each finding. Its links to runs lead to the state
// directory, by the shortest way.
func writeFindings(w io.Writer, out, dir string, all finding.Findings) error {
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	runs := filepath.Join(dir, reports.RunsDir)
	if _, err := os.Stat(runs); err != nil { // a folder of nothing but runs
		runs = dir
	}
	way, err := filepath.Rel(out, runs)
	if err != nil {
		way = runs
	}
	if err := finding.Write(out, filepath.ToSlash(way), all); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d findings, listed in %s\n", len(all.Findings), filepath.Join(out, finding.ListFile))
	return nil
}

// printFindings prints a line for each finding.
func printFindings(w io.Writer, all finding.Findings) error {
	table := [][]string{{"FINDING", "SEVERITY", "BLAMED ON", "FAILS AS", "RUNS", "SMALLEST", "FAILS IN", "LAST SEEN", "STATUS"}}
	for _, f := range all.Findings {
		table = append(table, []string{
			f.ID, f.Severity, string(f.Party), f.Way(), fmt.Sprint(len(f.Runs)), f.Smallest.Scenario, f.Smallest.FailsIn(), f.Last.Local().Format("2006-01-02 15:04"), f.Status.String(),
		})
	}
	if err := printTable(w, table); err != nil {
		return err
	}
	for _, note := range all.Notes {
		fmt.Fprintln(w, plain.Line(note))
	}
	return nil
}

// printFinding prints everything about a finding, for people.
func printFinding(w io.Writer, f finding.Finding) error {
	promised := ""
	if f.Unpromised != "" {
		promised = "; " + plain.Line(f.Unpromised)
	}
	fmt.Fprintf(w, "%s  %s  %s\n%s (%s%s)\n\n", f.ID, plain.Line(f.Severity), plain.Line(f.String()), plain.Line(f.Text), plain.Line(f.Source), promised)
	fmt.Fprintf(w, "Blamed on: %s. Seen first %s, last %s. Status: %s.\n", f.Party, f.First.Local().Format("2006-01-02"), f.Last.Local().Format("2006-01-02"), f.Status)
	if len(f.Also) > 0 {
		fmt.Fprintf(w, "The same claim fails in the same way in %s.\n", strings.Join(f.Also, ", "))
	}
	fmt.Fprintf(w, "Smallest: %s (faults: %d): %s\n", f.Smallest.Scenario, f.Smallest.Faults, f.Smallest.FailsIn())
	if f.Smallest.Command != "" {
		fmt.Fprintf(w, "  %s\n", f.Smallest.Command)
	}
	for _, what := range f.Smallest.NotChosen {
		fmt.Fprintf(w, "  This command does not choose %s.\n", plain.Line(what))
	}
	if f.Smallest.Changed {
		fmt.Fprintln(w, "  The library's scenario of this name has changed since that run.")
	}
	fmt.Fprintln(w)
	if len(f.Seen) > 0 {
		if err := printTable(w, seenTable(f)); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	runs := [][]string{{"RUN", "SCENARIO", "COUNT", "FOR EXAMPLE"}}
	for _, r := range f.Runs {
		runs = append(runs, []string{r.RunID, r.Scenario, r.Shows(), strings.TrimSpace(plain.Short(r.Example))})
	}
	return printTable(w, runs)
}

func seenTable(f finding.Finding) [][]string {
	table := [][]string{{"SCENARIO", "BROKER", "NODES", "SDK", "PROTOCOL", "TIER", "SEEN IN", "ELSE"}}
	for _, s := range f.Seen {
		table = append(table, []string{s.Scenario, s.On(), fmt.Sprint(s.Nodes), s.SDK, s.Protocol, s.Tier, fmt.Sprintf("%d of %d", s.Failed, s.Of), plain.Short(s.Else)})
	}
	return table
}
