package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

func (a *app) judge() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "judge RUN...",
		Short: "Judge stored runs again, from their records",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, refs []string) error {
			dirs, err := a.findAll(refs)
			if err != nil {
				return err
			}
			attempts, err := judgeDirs(dirs)
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
				s := sheetFor(cmd.OutOrStdout())
				s.whole(v)
				if err := s.repetitions(dirs); err != nil {
					return err
				}
			}
			return exitFor(v.State)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	return cmd
}

// findAll returns the directories of runs.
func (a *app) findAll(refs []string) (dirs []string, err error) {
	for _, ref := range refs {
		dir, err := a.find(ref)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// repetitions says what one run shows together with its repetitions.
func (s sheet) repetitions(dirs []string) error {
	if len(dirs) > 1 {
		return nil
	}
	series, err := reports.SeriesIn(dirs[0])
	if err != nil || series == nil || len(series.Runs) < 2 {
		return err
	}
	s.row(s.faint, labels, "series", fmt.Sprintf("this is the run alone; with its repetitions it is %s: rmq-mcp judge %s", series.State, strings.Join(series.Runs, " ")))
	return nil
}

// judgeDirs judges each run by its evidence alone; nothing is written.
func judgeDirs(dirs []string) ([]verdict.Attempt, error) {
	var attempts []verdict.Attempt
	for _, dir := range dirs {
		run, err := campaigns.ReadUnsealed(dir)
		if err != nil {
			return nil, err
		}
		attempts = append(attempts, run.Attempt())
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
	var first []aspect
	for _, dir := range dirs {
		d, err := reports.Open(dir)
		if err != nil {
			return err
		}
		if len(dirs) > 1 && d.Run.Scenario == "" {
			return fmt.Errorf("judge: %s was explored by hand and repeats nothing; judge it alone", dir)
		}
		now := aspects(d.Run)
		if first == nil {
			first = now
		}
		if differs := differing(first, now); differs != "" {
			return fmt.Errorf("judge: a series repeats one scenario on one broker; %s and %s differ in %s; judge each alone", dirs[0], dir, differs)
		}
	}
	return nil
}

// An aspect is a part of how a run is made that its repetitions have too.
type aspect struct{ name, value string }

func aspects(r *history.Run) []aspect {
	b := campaigns.BrokerOf(r.Cluster)
	return []aspect{
		{"scenario", r.Name()}, {"text of the scenario", fmt.Sprintf("%.8s", r.ScenarioSHA)}, {"faults left out", strings.Join(r.LeftOut, ", ")}, {"spread of clients over nodes", fmt.Sprint(r.Spread)},
		{"load", r.Lowered}, {"tier", r.Tier}, {"budget", fmt.Sprintf("%+v", r.Budget)}, {"protocol", r.Protocol}, {"transport", cmp.Or(r.Transport, contract.TCP)}, {"SDK", r.SDK},
		{"broker", b.String()}, {"endpoints", b.At}, {"build", fmt.Sprintf("%.8s", r.Cluster.BinarySHA)}, {"image", r.Cluster.Image},
		{"nodes", strconv.Itoa(b.Nodes)}, {"profile", b.Profile}, {"runtime", b.Runtime}, {"settings", b.Differs},
	}
}

// differing names the aspects in which two runs differ, "" for none.
func differing(a, b []aspect) string {
	var list []string
	for i := range a {
		if a[i] != b[i] {
			list = append(list, fmt.Sprintf("%s (%s; %s)", a[i].name, cmp.Or(a[i].value, "none"), cmp.Or(b[i].value, "none")))
		}
	}
	return strings.Join(list, ", ")
}

// exitFor is nil for a pass.
func exitFor(s verdict.State) error {
	if code := s.ExitCode(); code != 0 {
		return exit(code)
	}
	return nil
}
