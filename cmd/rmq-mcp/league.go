package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/league"
	"github.com/robustmq/rmq-mcp/campaigns/subject"
	"github.com/robustmq/rmq-mcp/scenarios"
)

func (a *app) league() *cobra.Command {
	var l league.League
	var brokers, names []string
	var out string
	var asJSON, markdown bool
	cmd := &cobra.Command{
		Use:   "league",
		Short: "Compare brokers by the same statements and scenarios",
		Long: "Holds each broker against the same statements of conformance, runs the same scenarios on each, and prints a table. The\n" +
			"differences between brokers come first. A broker is FLAVOR, or FLAVOR@VERSION if it is to be installed. --out writes\n" +
			"the table, and a page for each broker with the packets of its violations.\n" +
			"Ctrl-C stops in order; the same command resumes. Stored results count, without --fresh.\n" +
			"Exit status: 2 if it was stopped, 3 if a broker could not be tried.",
		Example: "  rmq-mcp league --flavor mosquitto,aedes@1.2.0,nats-server@2.15.1\n" +
			"  rmq-mcp league --flavor mosquitto,mochi@2.7.9 --checks session,share --scenario mqtt/power-loss --out league",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if l.Brokers, err = league.Find(brokers); err != nil {
				return err
			}
			for _, name := range names {
				s, err := scenarios.Load(name)
				if err != nil {
					return err
				}
				l.Scenarios = append(l.Scenarios, s)
			}
			if l.Runner, err = a.runner(); err != nil {
				return err
			}
			if err := l.Check(); err != nil {
				return err
			}
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			say := sayTo(cmd.OutOrStdout(), asJSON || markdown)
			l.Say = func(line string) { fmt.Fprintln(say, line) }
			err = l.Run(ctx)
			stopped := ctx.Err() != nil
			table := l.Table()
			if out != "" {
				if err := table.Write(out, l); err != nil {
					return err
				}
			}
			switch {
			case asJSON:
				if err := writeJSON(cmd.OutOrStdout(), table); err != nil {
					return err
				}
			case markdown:
				table.Markdown(cmd.OutOrStdout(), l, false)
			default:
				if err := printLeague(cmd.OutOrStdout(), l, table); err != nil {
					return err
				}
			}
			if stopped {
				fmt.Fprintln(say, "stopped; the same command resumes, without --fresh")
				return exit(exitUndecided)
			}
			return err
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&brokers, "flavor", nil, "two or more brokers, as FLAVOR or FLAVOR@VERSION: "+subject.OwnFlavors())
	flags.StringSliceVar(&l.Checks, "checks", []string{"session", "publish", "take-over"}, "groups or names of checks of conformance; \"\" for none")
	flags.StringSliceVar(&names, "scenario", []string{"mqtt/qos2-redelivered", "mqtt/qos2-release-lost", "mqtt/broker-graceful-restart", "mqtt/broker-kill-9", "mqtt/power-loss"}, "scenarios to run; \"\" for none")
	flags.StringVar(&out, "out", "", "`directory` for the table and a page for each broker")
	flags.BoolVar(&l.Fresh, "fresh", false, "forget stored results")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	flags.BoolVar(&markdown, "markdown", false, "print Markdown")
	return cmd
}

// printLeague prints the rows with a difference or a violation.
func printLeague(out io.Writer, l league.League, t league.Table) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w)
	for _, b := range l.Brokers {
		fmt.Fprintf(w, "\t%s", b)
	}
	fmt.Fprintln(w)
	for _, r := range t.Telling() {
		fmt.Fprint(w, r.Name)
		for _, c := range r.Cells {
			fmt.Fprintf(w, "\t%s", c.Word)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s\n", t.Rest())
	return w.Flush()
}
