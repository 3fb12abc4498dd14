package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/doctor"
	"github.com/robustmq/rmq-mcp/campaigns/subject"
	"github.com/robustmq/rmq-mcp/experiment"
)

func (a *app) doctor() *cobra.Command {
	var asJSON, markdown, live, missing bool
	var o doctor.Options
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this host can do, and how each fault would be injected",
		Long: "Looks at the host, and changes nothing. With --faults it starts a cluster with clients, injects every\n" +
			"type of fault, one after the other, and shows the proof that it landed and was healed.\n" +
			"Exit status: 1 if one that this host has did not land, or was not healed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if live {
				return a.injectFaults(cmd.Context(), cmd.OutOrStdout(), o, asJSON, markdown)
			}
			argv, err := self()
			if err != nil {
				return err
			}
			host := experiment.Look(cmd.Context(), argv)
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), host)
			}
			printHost(paintFor(os.Stdout), cmd.OutOrStdout(), host, missing)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&missing, "missing", false, "show only what is missing, and how to get it")
	f.BoolVar(&live, "faults", false, "inject every fault for real, on a live cluster")
	f.StringSliceVar(&o.Flavors, "flavor", []string{subject.DefaultFlavor}, "with --faults: the flavor of the nodes; after a comma, the next one to try for faults that have not landed")
	f.StringSliceVar(&o.Only, "only", nil, "with --faults: `types` or families, separated by commas")
	f.StringVar(&o.Runtime, "runtime", "", "with --faults: what the nodes run in: "+subject.Runtimes())
	f.StringSliceVar(&o.Arm, "arm", nil, "with --faults: more to put in place, such as chaos-mesh with --runtime kubernetes")
	f.StringVar(&o.UpgradeTo, "upgrade-to", "", "with --faults: `path` of another build of the broker, for upgrade")
	f.BoolVar(&markdown, "markdown", false, "with --faults: print a table of Markdown")
	return cmd
}

// injectFaults injects every fault and prints what that showed, as it happens.
func (a *app) injectFaults(ctx context.Context, out io.Writer, o doctor.Options, asJSON, markdown bool) error {
	runs, err := a.runner()
	if err != nil {
		return err
	}
	say := sayTo(out, asJSON || markdown)
	rows, err := o.Inject(ctx, runs, func(r doctor.Row) { printFault(paintTo(say), say, r) })
	switch {
	case err != nil:
	case asJSON:
		err = writeJSON(out, rows)
	case markdown:
		doctor.Markdown(out, rows)
	}
	fmt.Fprintf(say, "\n%s\n", doctor.Summary(rows))
	if err != nil {
		return err
	}
	if len(doctor.Failed(rows)) > 0 {
		return exit(1)
	}
	return nil
}

// printHost prints the abilities of a host, or only the missing ones, and how to get them.
func printHost(p paint, w io.Writer, host experiment.Preflight, missing bool) {
	type row struct {
		ok   bool
		text string
	}
	abilities := func(list []experiment.Ability) (rows []row) {
		for _, a := range list {
			text := fmt.Sprintf("%-28s %s", a.Name, a.Detail)
			if !a.OK && a.Install != "" {
				text += "\n      " + p.doubt("to get it:") + " " + strings.TrimSpace(a.Install)
			}
			rows = append(rows, row{a.OK, text})
		}
		return rows
	}
	var faults []row
	for _, f := range host.Faults {
		text := fmt.Sprintf("%-28s by %s", f.Type, f.Mechanism)
		if f.Missing != "" {
			text += "; " + p.doubt(f.Missing)
		}
		faults = append(faults, row{f.OK, text})
	}
	fmt.Fprintf(w, "experiments run in: %s\n", p.bold(host.Isolation))
	var sums []string
	for _, part := range []struct {
		title string
		rows  []row
	}{{"Abilities", abilities(host.Abilities)}, {"Brokers", abilities(host.Flavors)}, {"Client libraries", abilities(host.SDKs)}, {"Faults", faults}} {
		all := len(part.rows)
		lacks := slices.DeleteFunc(slices.Clone(part.rows), func(r row) bool { return r.ok })
		sums = append(sums, fmt.Sprintf("%d of %d %s", all-len(lacks), all, strings.ToLower(part.title)))
		if missing {
			part.rows = lacks
		}
		if len(part.rows) > 0 {
			fmt.Fprintf(w, "\n%s\n", p.bold(part.title))
		}
		for _, r := range part.rows {
			fmt.Fprintf(w, "  %s %s\n", mark(p, r.ok), r.text)
		}
	}
	fmt.Fprintf(w, "\n%s\n", strings.Join(sums, ", "))
	if !missing {
		fmt.Fprintln(w, "`rmq-mcp doctor --missing` shows the others, and how to get them")
	}
}

func mark(p paint, ok bool) string {
	if ok {
		return p.good("✓")
	}
	return p.doubt("–")
}
