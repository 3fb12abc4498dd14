package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/trials"
	"github.com/robustmq/rmq-mcp/clients"
)

func (a *app) sdksCheck() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [SDK…]",
		Short: "Run every installed driver against a broker of our own",
		Long: "Starts brokers on this machine's loopback, and with each driver connects, subscribes, publishes a few messages\n" +
			"at each QoS, receives them and ends. Exit status: 1 if one failed, or one that was named is not installed;\n" +
			"2 if one could not be tried, because the broker for its protocol is not here.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			say := sayTo(out, asJSON)
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			o, err := a.triedWith(args)
			if err != nil {
				return err
			}
			rows, err := trials.Check(ctx, o, func(r trials.Row) { printCheck(paintTo(say), say, r) })
			if err != nil {
				return err
			}
			if asJSON {
				if err := writeJSON(out, rows); err != nil {
					return err
				}
			}
			fmt.Fprintf(say, "\n%s\n", countChecks(rows))
			return exitOfChecks(rows, len(args) > 0)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func exitOfChecks(rows []trials.Row, named bool) error {
	count := func(states ...string) bool {
		return slices.ContainsFunc(rows, func(r trials.Row) bool { return slices.Contains(states, r.State) })
	}
	switch {
	case count(trials.Failed), named && count(clients.StateNotInstalled, clients.StateUnsupported):
		return exit(1)
	case count(trials.NotChecked):
		return exit(exitUndecided)
	}
	return nil
}

// triedWith are the SDKs of these names, for trials.
func (a *app) triedWith(names []string) (o trials.Options, err error) {
	if o.SDKs, err = sdksNamed(names); err != nil {
		return o, err
	}
	if o.Cache, err = a.cache(); err != nil {
		return o, err
	}
	o.Self, err = self()
	return o, err
}

func printCheck(p paint, w io.Writer, r trials.Row) {
	state := p.doubt(r.State)
	switch r.State {
	case trials.OK:
		state = p.good(r.State)
	case trials.Failed:
		state = p.bad(r.State)
	}
	fmt.Fprintf(w, "%-44s %-6s %s", r.SDK, r.Protocol, state)
	if r.TookS > 0 {
		fmt.Fprintf(w, " %s", p.faint(fmt.Sprintf("%.1f s", r.TookS)))
	}
	if r.Reason != "" {
		fmt.Fprintf(w, ": %s", r.Reason)
	}
	fmt.Fprintln(w)
}

// countChecks counts the rows of each state.
func countChecks(rows []trials.Row) string {
	var parts []string
	for _, state := range []string{trials.OK, trials.Failed, trials.NotChecked, clients.StateNotInstalled, clients.StateUnsupported} {
		n := 0
		for _, r := range rows {
			if r.State == state {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}
