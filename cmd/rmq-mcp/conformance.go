package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/exam"
	"github.com/robustmq/rmq-mcp/campaigns/subject"
)

// conforming are the flags of conformance.
type conforming struct {
	exam.Options
	asJSON, markdown, statements bool
}

func (a *app) conformance() *cobra.Command {
	var f conforming
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Check a healthy broker against the statements of MQTT 3.1.1, MQTT 5 and mq9",
		Long: "Starts a broker on this machine's loopback, or uses the ones named by --endpoint and no other, and makes one small\n" +
			"check for each normative statement of the standards, and of the vendor's pages of mq9, that a client can observe.\n" +
			"With several nodes what is published is published to the first one, and subscribers are at the last one. A violation\n" +
			"comes with the packets of its check. --endpoint is an MQTT port, and with --protocol mq9 a NATS port.\n" +
			"Exit status: 1 if a MUST is violated and the broker is not known for\n" +
			"it, or if the broker ended during the checks, 2 if something could not be decided, 3 if there is no broker. Ctrl-C stops in order: the checks that were\n" +
			"made are printed, and the others are undecided.",
		Example: "  rmq-mcp conformance --flavor mosquitto\n  rmq-mcp conformance --flavor robustmq --nodes 3 --only retained,will\n" +
			"  rmq-mcp conformance --endpoint 127.0.0.1:1883 --protocol mqtt5\n  rmq-mcp conformance --flavor robustmq --protocol mq9",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.statements {
				return f.printNumbers(cmd.OutOrStdout())
			}
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			return a.conform(ctx, cmd.OutOrStdout(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Cluster.Flavor, "flavor", "", "what the nodes are: "+subject.OwnFlavors()+" (default "+subject.DefaultFlavor+")")
	flags.IntVar(&f.Cluster.Nodes, "nodes", 1, "how many nodes, 1 to 5")
	subject.Build(flags, &f.Cluster)
	subject.Endpoints(flags, &f.Cluster)
	flags.StringSliceVar(&f.Only, "only", nil, "groups or `names` of checks, or numbers of statements, separated by commas")
	flags.StringVar(&f.Protocol, "protocol", "", "mqtt3, mqtt5 or mq9 (default: all that the flavor may speak, and of --endpoint MQTT)")
	flags.Uint64Var(&f.Seed, "seed", 1, "of generated topics and filters")
	flags.IntVar(&f.Parallel, "parallel", 0, "checks at once (default: 8, across nodes 2)")
	flags.IntVar(&f.Steps, "steps", 0, "of each random walk (default: 300, in 20s at most)")
	flags.DurationVar(&f.Wait, "wait", exam.Wait, "how long a packet is waited for")
	flags.BoolVar(&f.statements, "statements", false, "print every numbered statement of MQTT with its checks, or why none examines it, and start no broker")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.BoolVar(&f.markdown, "markdown", false, "print Markdown")
	return cmd
}

// printNumbers prints the numbered statements of the standards.
func (f conforming) printNumbers(out io.Writer) error {
	all, err := f.Numbers()
	if err != nil {
		return err
	}
	if f.asJSON {
		return writeJSON(out, all)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, n := range all {
		how := cmp.Or(strings.Join(n.Checks, ", "), n.Why, "binds clients alone")
		fmt.Fprintf(t, "%s\t%s\t%s\n", n.Version.Protocol(), n.Number, how)
	}
	return t.Flush()
}

// conform starts the broker, runs the checks and prints what they say.
func (a *app) conform(ctx context.Context, out io.Writer, f conforming) error {
	say := sayTo(out, f.asJSON || f.markdown)
	err := f.Check()
	if err == nil && f.Cluster.Version != "" {
		f.Dir, err = a.state()
	}
	if err == nil {
		f.Self, err = self()
	}
	if err != nil {
		return err
	}
	t := newTicker(say)
	f.Say, f.Tell = func(line string) { fmt.Fprintln(say, line) }, t.tell
	report, err := exam.Run(ctx, f.Options)
	t.end()
	if len(report.Results) == 0 {
		return err
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(say, "stopped")
		err = nil
	}
	return cmp.Or(err, f.print(out, say, report))
}

func (f conforming) print(out, say io.Writer, report exam.Report) error {
	switch {
	case f.asJSON:
		if err := writeJSON(out, report); err != nil {
			return err
		}
	case f.markdown:
		report.Markdown(out)
	default:
		printConformance(paintTo(say), say, report)
	}
	switch {
	case report.Violated():
		return exit(1)
	case report.Undecided():
		return exit(exitUndecided)
	}
	return nil
}
