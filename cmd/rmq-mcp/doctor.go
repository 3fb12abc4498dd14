package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/scenarios"
)

func (a *app) doctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "What this host can do, and how each fault would be done",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			argv, err := self()
			if err != nil {
				return err
			}
			host := scenarios.Look(cmd.Context(), argv)
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), host)
			}
			printHost(paintFor(os.Stdout), cmd.OutOrStdout(), host)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printHost(p paint, w io.Writer, host scenarios.Preflight) {
	fmt.Fprintf(w, "experiments run in: %s\n", p.bold(host.Isolation))
	for _, part := range []struct {
		title string
		list  []scenarios.Ability
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

func printAbility(p paint, w io.Writer, a scenarios.Ability) {
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
