package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/shrink"
)

// A reduceAsk is what one may ask of a reduction.
type reduceAsk struct {
	claims []string
	rule   shrink.Rule
	runs   int
	within time.Duration
}

// defaultReduce takes a failure that was seen twice in three runs for one that
// comes again.
func defaultReduce() reduceAsk {
	return reduceAsk{rule: shrink.Rule{K: 2, N: 3}, runs: 120, within: 2 * time.Hour}
}

func (a *app) reduce() *cobra.Command {
	var ask jobAsk
	want := defaultReduce()
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
			if err := want.rule.Check(); err != nil {
				return fmt.Errorf("reduce: --fails and --of: %w", err)
			}
			if want.runs < 0 || want.within < 0 {
				return errors.New("reduce: --runs and --for are 0 or more")
			}
			dir, err := a.find(args[0])
			if err != nil {
				return err
			}
			job, text, err := reduceJob(a.dir, dir, ask.binary, want)
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
	f.StringSliceVar(&want.claims, "claim", nil, "`name` of a claim that must fail; repeat it for more (default: all that failed)")
	f.IntVar(&want.rule.K, "fails", want.rule.K, "runs of a candidate that must fail")
	f.IntVar(&want.rule.N, "of", want.rule.N, "runs of a candidate, at most")
	f.IntVar(&want.runs, "runs", want.runs, "at most so many runs of all candidates; 0: no limit")
	f.DurationVar(&want.within, "for", want.within, "time for all runs; 0: no limit")
	ask.flags(cmd)
	return cmd
}

// reduceJob is a run to be reduced, and its scenario.
func reduceJob(stateDir, dir, binary string, want reduceAsk) (campaigns.Job, string, error) {
	r, err := campaigns.ReadRecipe(stateDir, dir, binary)
	if err != nil {
		return campaigns.Job{}, "", err
	}
	job := campaigns.NewJob(campaigns.Reduce, r, want.rule)
	job.MaxRuns, job.MaxS = want.runs, want.within.Seconds()
	if len(r.Wanted) == 0 {
		return job, "", fmt.Errorf("reduce: run %s did not fail, so there is nothing to reduce: %s; `rmq-mcp list runs` shows those that did", job.RunID, short(r.Headline))
	}
	for _, c := range want.claims {
		if !slices.Contains(r.Wanted.Claims(), c) {
			return job, "", fmt.Errorf("reduce: %s did not fail in run %s; there failed %s", c, job.RunID, strings.Join(r.Wanted.Claims(), ", "))
		}
	}
	job.Wanted = r.Wanted.Only(want.claims)
	return job, r.Text, nil
}
