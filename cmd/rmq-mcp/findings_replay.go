package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

func (a *app) findingsReplay() *cobra.Command {
	var on campaigns.Another
	var times int
	cmd := &cobra.Command{
		Use:   "replay [ID...]",
		Short: "Run findings that are not fixed on another version, as often as it takes to tell",
		Long: "Runs the setups that showed each finding on another version of the broker, or with another version of the library that is to\n" +
			"blame: without an ID, of all that are not fixed. A finding that came in each run takes three runs, a rarer one more, so that its\n" +
			"absence is chance in one of twenty cases (docs/findings.md). Each run has a seed of its own. Ctrl-C stops in order; the same\n" +
			"command goes on where it stopped.",
		Example: "  rmq-mcp findings replay --broker-version v0.4.12\n  rmq-mcp findings replay robustmq-qos1-no-loss --binary ./broker-server\n" +
			"  rmq-mcp findings replay paho-mqtt-golang-sdk-honest --sdk go/paho.mqtt.golang@1.5.2",
		RunE: func(cmd *cobra.Command, ids []string) error {
			if (on.Version != "") == (on.Binary != "") && on.SDK == "" {
				return errors.New("findings replay: name the version with one of --broker-version, --binary and --sdk")
			}
			if times < 0 || times > maxReplays {
				return fmt.Errorf("findings replay: --times is %d, expected 0 to %d", times, maxReplays)
			}
			return a.replayFindings(cmd.Context(), cmd.OutOrStdout(), ids, on, times)
		},
	}
	f := cmd.Flags()
	f.StringVar(&on.Version, "broker-version", "", "of RobustMQ, such as v0.4.12, to be downloaded")
	f.StringVar(&on.Binary, "binary", "", "`path` of the broker's other version")
	f.StringVar(&on.SDK, "sdk", "", "the other version of the library: `LANGUAGE/LIBRARY@VERSION`")
	f.IntVar(&times, "times", 0, "how many runs of each (default: as many as its fix takes)")
	return cmd
}

// replayFindings runs findings on another version, and prints what became of each. One that
// cannot be repeated is told and keeps no other from it.
func (a *app) replayFindings(ctx context.Context, out io.Writer, ids []string, on campaigns.Another, times int) error {
	dir, err := a.state()
	if err != nil {
		return err
	}
	all, err := finding.Load(dir)
	if err != nil {
		return err
	}
	chosen, err := toReplay(all, ids, on)
	if err != nil {
		return err
	}
	done := 0
	for _, f := range chosen {
		fmt.Fprintf(out, "%s (%s): %s; setups to run: %d\n", f.ID, f.Way(), f.Status, len(f.Repeat))
		for _, setup := range f.Repeat {
			job, text, err := findingJob(dir, f, setup, on, times)
			if err != nil {
				fmt.Fprintf(out, "  %s on %s is not repeated: %v\n", setup.Setup.Scenario, setup.Setup.On(), err)
				continue
			}
			r, err := a.workHere(ctx, out, job, text, jobAsk{})
			if err != nil {
				return err
			}
			if r.Runs > 0 {
				done++
			}
		}
	}
	if all, err = finding.Load(dir); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, f := range chosen {
		now, err := all.Find(f.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s\n", now.ID, now.Status)
	}
	if done == 0 {
		return exit(exitUndecided)
	}
	return nil
}

// toReplay are the findings with some IDs. Without an ID they are all that are not fixed and
// of the broker, or of the library of which another version is given.
func toReplay(all finding.Findings, ids []string, on campaigns.Another) (chosen []finding.Finding, err error) {
	for _, id := range ids {
		f, err := all.Find(id)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, f)
	}
	for _, f := range all.Findings {
		library, _, _ := strings.Cut(on.SDK, "@")
		concerned := f.Party == verdict.SDK && f.Subject == library || f.Party != verdict.SDK && on.SDK == ""
		if len(ids) == 0 && f.Status.State != finding.Fixed && concerned {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("findings replay: there is no finding that is not fixed and that this version concerns; rmq-mcp findings lists them")
	}
	return chosen, nil
}

// findingJob is a setup of a finding, to be run on another version.
func findingJob(dir string, f finding.Finding, setup finding.Repeat, on campaigns.Another, times int) (campaigns.Job, string, error) {
	if times == 0 {
		times = setup.Needed
	}
	r, err := campaigns.ReadRecipeOn(filepath.Join(dir, reports.RunsDir, setup.RunID), on)
	if err != nil {
		return campaigns.Job{}, "", err
	}
	r.Start.Seed = 0
	job := campaigns.NewSeries(setup.RunID, r.Start, nil, times, false)
	job.Was = f.String()
	return job, r.Text, nil
}
