package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

func (a *app) judge() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "judge RUN...",
		Short: "Judge again, from what was recorded; several runs are a series",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, refs []string) error {
			attempts, err := a.judgeAll(refs)
			if err != nil {
				return err
			}
			v := attempts[0].Verdict
			if len(attempts) > 1 {
				v = verdict.Series(attempts)
			}
			if asJSON {
				if err := writeJSON(cmd.OutOrStdout(), v); err != nil {
					return err
				}
			} else {
				printVerdict(paintFor(os.Stdout), cmd.OutOrStdout(), v)
			}
			return exitFor(v.State)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	return cmd
}

// judgeAll judges each run by its evidence alone; nothing is written.
func (a *app) judgeAll(refs []string) ([]verdict.Attempt, error) {
	var dirs []string
	for _, ref := range refs {
		dir, err := a.find(ref)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return judgeDirs(dirs)
}

func judgeDirs(dirs []string) ([]verdict.Attempt, error) {
	var attempts []verdict.Attempt
	for _, dir := range dirs {
		attempt, err := judgeRun(dir)
		if err != nil {
			return nil, err
		}
		attempts = append(attempts, attempt)
	}
	return attempts, sameExperiment(dirs)
}

// judgeSeries judges runs as repetitions of one experiment.
func judgeSeries(dirs []string) (verdict.Verdict, error) {
	attempts, err := judgeDirs(dirs)
	if err != nil {
		return verdict.Verdict{}, err
	}
	return verdict.Series(attempts), nil
}

// sameExperiment is an error where runs are no repetitions of each other: what
// one scenario, build or SDK does proves nothing of another.
func sameExperiment(dirs []string) error {
	first := ""
	for _, dir := range dirs {
		d, err := reports.Open(dir)
		if err != nil {
			return err
		}
		r := d.Run
		what := fmt.Sprintf("%s (%.8s, %s, %s tier) with %s on %d nodes of %s %s %.8s (%s)%s", r.Scenario, r.ScenarioSHA, r.Protocol,
			r.Tier, r.SDK, r.Cluster.Nodes, r.Cluster.Flavor, r.Cluster.Version, r.Cluster.BinarySHA, r.Cluster.Profile, strings.Join(append([]string{""}, r.LeftOut...), ", without "))
		if first == "" {
			first = what
		}
		switch {
		case len(dirs) > 1 && r.Scenario == "":
			return fmt.Errorf("judge: %s was explored by hand and repeats nothing; judge it alone", dir)
		case what != first:
			return fmt.Errorf("judge: a series repeats one scenario on one build; %s is %s, and %s is %s", dirs[0], first, dir, what)
		}
	}
	return nil
}

func judgeRun(dir string) (verdict.Attempt, error) {
	v, _, err := reports.Judge(dir)
	if err != nil {
		return verdict.Attempt{}, err
	}
	d, err := reports.Open(dir)
	if err != nil {
		return verdict.Attempt{}, err
	}
	attempt := verdict.Attempt{Seed: d.Run.Seed, Verdict: v}
	if seal, err := reports.ReadSeal(dir); err == nil {
		attempt.Root = seal.Root
	}
	return attempt, nil
}

// exitFor is nil for a pass.
func exitFor(s verdict.State) error {
	if code := s.ExitCode(); code != 0 {
		return exit(code)
	}
	return nil
}
