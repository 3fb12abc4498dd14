package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/jobs"
)

func (a *app) blame() *cobra.Command {
	var ask jobAsk
	var sdk string
	var times int
	cmd := &cobra.Command{
		Use:   "blame RUN",
		Short: "Attribute a failure, by runs that differ in one thing",
		Long: "Runs what a failed run's record froze once more all the same, once with the packets recorded, once without its faults, once with\n" +
			"another client library and once on the control broker, as far as the run allows each, and each so often as --times says. Where every\n" +
			"library fails, and the wire does not show who is at fault, the control broker is run as often as it takes to tell that from chance. It compares what they show:\n" +
			"the protocol implementation, the broker, one client library, the harness, the environment, or what would decide it.\n" +
			"Ctrl-C stops in order; the same command resumes.\n" +
			"Exit status: 1 a party is to blame, 2 the blame could not be decided, 3 the harness could not do its job.",
		Example: "  rmq-mcp blame latest\n  rmq-mcp blame 1129-0931-broker-kill-9-1d26 --sdk rust/rumqttc@latest",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 || times > maxReplays {
				return fmt.Errorf("blame: --times is %d, expected 1 to %d", times, maxReplays)
			}
			dir, err := a.find(args[0])
			if err != nil {
				return err
			}
			job, text, err := jobs.Blame(a.dir, dir, ask.binary, sdk, times)
			if err != nil {
				return err
			}
			r, err := a.workHere(cmd.Context(), cmd.OutOrStdout(), job, text, ask)
			if err != nil {
				return err
			}
			if !ask.asJSON {
				printComparison(paintFor(os.Stdout), cmd.OutOrStdout(), *r.Comparison)
			}
			if len(r.Comparison.Attributions) == 0 {
				return exit(exitUndecided)
			}
			return exit(r.Comparison.ExitCode())
		},
	}
	cmd.Flags().StringVar(&sdk, "sdk", "", "the other client library, `lang/package@version` (default: one of ours that the run did not use)")
	cmd.Flags().IntVar(&times, "times", 1, "runs of each variation")
	ask.flags(cmd)
	return cmd
}
