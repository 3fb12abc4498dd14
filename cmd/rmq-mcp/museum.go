package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/museum"
)

func (a *app) museum() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "museum",
		Short: "Test the judge with defects that other people reported",
		Long: "Shows defects of brokers and client libraries from public reports, each in a version that has it and in the\n" +
			"version that fixed it. Brokers are installed from their registries.",
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.museumList(), a.museumRun())
	return cmd
}

func (a *app) museumList() *cobra.Command {
	var asJSON, markdown bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the defects, and what their trials showed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := a.reading()
			if err != nil {
				return err
			}
			out, rows := cmd.OutOrStdout(), museum.Rows(dir, museum.All())
			switch {
			case asJSON:
				return writeJSON(out, rows)
			case markdown:
				_, err = fmt.Fprintf(out, "%s\n\n%s", museum.Score(rows), museum.Table(rows))
				return err
			}
			if err := listExhibits(out, rows); err != nil {
				return err
			}
			_, err = fmt.Fprintf(out, "\n%s\n", museum.Score(rows))
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&markdown, "markdown", false, "print a table in Markdown")
	return cmd
}

func listExhibits(out io.Writer, rows []museum.Row) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for _, r := range rows {
		e := r.Exhibit
		fmt.Fprintf(w, "%s\t%s\t%s %s\t%s\n", e.Name, e.Outcome(r.Result), e.Product(), e.Affected, e.What)
	}
	return w.Flush()
}

func (a *app) museumRun() *cobra.Command {
	var show museum.Show
	cmd := &cobra.Command{
		Use:   "run NAME...",
		Short: "Try defects, in the affected and the fixed version in turn",
		Long: "Runs the scenario or the check of each defect, in the affected and in the fixed version in turn, and says how often\n" +
			"the verdict names the defect: by the right claim and of the right party. NAME is a defect of `rmq-mcp museum list`,\n" +
			"or all. Ctrl-C stops in order; the same command resumes.\n" +
			"Exit status: 1 if a defect that was tried is missed, 2 if it was stopped, 3 if a defect could not be tried.",
		Example: "  rmq-mcp museum run rumqttc-collision\n  rmq-mcp museum run all --times 3",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := museum.Find(args)
			if err != nil {
				return err
			}
			if show.Runner, err = a.runner(); err != nil {
				return err
			}
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			out := cmd.OutOrStdout()
			show.Say = func(line string) { fmt.Fprintln(out, line) }
			err = show.All(ctx, list)
			if ctx.Err() != nil {
				fmt.Fprintln(out, "stopped; the same command resumes, without --fresh")
				return exit(exitUndecided)
			}
			rows := museum.Rows(show.Runner.Dir, list)
			if err := errors.Join(err, listExhibits(out, rows)); err != nil {
				return err
			}
			for _, r := range rows {
				if len(r.Result.Trials) > 0 && r.Exhibit.Outcome(r.Result) == museum.Missed {
					return exit(1)
				}
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&show.Times, "times", 3, "trials of each version")
	cmd.Flags().BoolVar(&show.Fresh, "fresh", false, "forget earlier trials")
	return cmd
}
