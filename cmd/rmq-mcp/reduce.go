package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/jobs"
)

func (a *app) reduce() *cobra.Command {
	var ask jobAsk
	want := jobs.DefaultReduction()
	cmd := &cobra.Command{
		Use:   "reduce RUN",
		Short: "Find the smallest scenario that fails as a run did",
		Long: "Leaves out faults, rounds, durations, what faults do and to whom, subscribers, publishers, streams, QoS, rate, payload and\n" +
			"nodes of what a run's record froze, for as long as the same claims still fail by the same checkers, and writes the scenario\n" +
			"that is left.\n" +
			"A candidate counts as failing when --fails of --of runs fail; one whose fault did not land is unknown, and never passes.\n" +
			"Ctrl-C stops in order; the same command resumes. The time and runs spent until then count.\n" +
			"Exit status: 0 the failure is reduced, 2 it did not come again, 3 the harness could not do its job.",
		Example: "  rmq-mcp reduce latest\n  rmq-mcp reduce 1129-0931-broker-kill-9-1d26 --claim qos1-no-loss --fails 1 --of 1 --for 30m",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := want.Rule.Check(); err != nil {
				return fmt.Errorf("reduce: --fails and --of: %w", err)
			}
			if want.Runs < 0 || want.Within < 0 {
				return errors.New("reduce: --runs and --for are 0 or more")
			}
			dir, err := a.find(args[0])
			if err != nil {
				return err
			}
			job, text, err := jobs.Reduce(a.dir, dir, ask.binary, want)
			if err != nil {
				return err
			}
			r, err := a.workHere(cmd.Context(), cmd.OutOrStdout(), job, text, ask)
			if err != nil {
				return err
			}
			if r.Reduction == nil || r.Reduction.Scenario == "" {
				return exit(exitUndecided)
			}
			if !ask.asJSON {
				fmt.Fprintf(cmd.OutOrStdout(), "scenario %s\nrun it   %s\n", r.Reduction.Scenario, r.Reduction.Command)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&want.Claims, "claim", nil, "`name` of a claim that must fail; repeat it for more (default: all that failed)")
	f.IntVar(&want.Rule.K, "fails", want.Rule.K, "runs of a candidate that must fail")
	f.IntVar(&want.Rule.N, "of", want.Rule.N, "runs of a candidate, at most")
	f.IntVar(&want.Runs, "runs", want.Runs, "at most so many runs of all candidates; 0: no limit")
	f.DurationVar(&want.Within, "for", want.Within, "time for all runs; 0: no limit")
	ask.flags(cmd)
	return cmd
}
