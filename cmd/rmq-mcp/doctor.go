package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
)

func (a *app) doctor() *cobra.Command {
	var asJSON, live bool
	var check faultCheck
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this host can do, and how each fault would be injected",
		Long: "Looks at the host, and changes nothing. With --faults it starts a cluster with clients, injects every\n" +
			"type of fault there is, one after the other, and shows what proved that it landed and was healed.\n" +
			"Exit status: 1 where one that this host has did not land, or was not healed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if live {
				check.asJSON = asJSON
				return a.doctorFaults(cmd.Context(), cmd.OutOrStdout(), check)
			}
			argv, err := self()
			if err != nil {
				return err
			}
			host := experiment.Look(cmd.Context(), argv)
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), host)
			}
			printHost(paintFor(os.Stdout), cmd.OutOrStdout(), host)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&live, "faults", false, "inject every fault for real, on a live cluster")
	f.StringSliceVar(&check.flavors, "flavor", []string{cluster.DefaultFlavor}, "with --faults: the flavor of the nodes; after a comma, the next one to try for faults that have not landed")
	f.StringSliceVar(&check.only, "only", nil, "with --faults: `types` or families, separated by commas")
	f.StringVar(&check.upgradeTo, "upgrade-to", "", "with --faults: `path` of another build of the broker, for upgrade")
	f.BoolVar(&check.markdown, "markdown", false, "with --faults: print a table of Markdown")
	return cmd
}

// doctorFaults injects every fault and prints what that showed, as it goes.
func (a *app) doctorFaults(ctx context.Context, out io.Writer, check faultCheck) error {
	say := sayTo(out, check.asJSON || check.markdown)
	rows, err := a.checkFaults(ctx, check, func(r FaultRow) { printFault(paintTo(say), say, r) })
	switch {
	case err != nil:
	case check.asJSON:
		err = writeJSON(out, rows)
	case check.markdown:
		writeFaultTable(out, rows)
	}
	fmt.Fprintf(say, "\n%s\n", summaryOf(rows))
	if err != nil {
		return err
	}
	if len(failedFaults(rows)) > 0 {
		return exit(1)
	}
	return nil
}

func printHost(p paint, w io.Writer, host experiment.Preflight) {
	fmt.Fprintf(w, "experiments run in: %s\n", p.bold(host.Isolation))
	for _, part := range []struct {
		title string
		list  []experiment.Ability
	}{{"This host", host.Abilities}, {"Brokers", host.Flavors}, {"Client SDKs", host.SDKs}} {
		fmt.Fprintf(w, "\n%s\n", p.bold(part.title))
		for _, ability := range part.list {
			printAbility(p, w, ability)
		}
	}
	fmt.Fprintf(w, "\n%s\n", p.bold("Faults"))
	for _, f := range host.Faults {
		fmt.Fprintf(w, "  %s %-28s by %s", mark(p, f.OK), f.Type, f.Mechanism)
		if f.Missing != "" {
			fmt.Fprintf(w, "; %s", p.doubt(f.Missing))
		}
		fmt.Fprintln(w)
		if f.Params != "" {
			fmt.Fprintf(w, "      %s\n", p.faint(f.Params))
		}
	}
}

func printAbility(p paint, w io.Writer, a experiment.Ability) {
	fmt.Fprintf(w, "  %s %-28s %s\n", mark(p, a.OK), a.Name, a.Detail)
	if !a.OK && a.Install != "" {
		fmt.Fprintf(w, "      %s %s\n", p.doubt("to get it:"), strings.TrimSpace(a.Install))
	}
}

func mark(p paint, ok bool) string {
	if ok {
		return p.good("✓")
	}
	return p.doubt("–")
}
