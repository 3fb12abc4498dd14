package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
)

func (a *app) findingsReplay() *cobra.Command {
	var on campaigns.Another
	var times int
	cmd := &cobra.Command{
		Use:   "replay [ID...]",
		Short: "Replay open findings on another version",
		Long: "Runs the setups that showed each finding on another version of the broker, or with another version of the library that is to\n" +
			"blame: without an ID, of all that are not fixed. A finding that came in each run takes three runs, a rarer one more, so that its\n" +
			"absence is chance in one of twenty cases (docs/findings.md). A setup is not run again once it violates the claim there. Each\n" +
			"run has a seed of its own. Ctrl-C stops in order; the same command resumes.",
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
	f.StringVar(&on.Version, "broker-version", "", "of the broker, such as v0.4.12, to be downloaded or installed")
	f.StringVar(&on.Binary, "binary", "", "`path` of the broker's other version")
	f.StringVar(&on.SDK, "sdk", "", "the other version of the library: `LANGUAGE/LIBRARY@VERSION`")
	f.IntVar(&times, "times", 0, "how many runs of each (default: as many as its fix takes)")
	return cmd
}

// replayFindings runs findings on another version, and prints what became of each.
func (a *app) replayFindings(ctx context.Context, out io.Writer, ids []string, on campaigns.Another, times int) error {
	dir, err := a.state()
	if err != nil {
		return err
	}
	all, err := finding.Load(dir)
	if err != nil {
		return err
	}
	chosen, err := all.ToReplay(ids, on)
	if err != nil {
		return err
	}
	ctx, stop := interrupted(ctx)
	defer stop()
	now, err := a.replayAll(ctx, out, dir, chosen, on, times, "")
	switch {
	case ctx.Err() != nil || err == nil && len(now) == 0:
		return exit(exitUndecided)
	case err != nil:
		return err
	}
	return nil
}

// replayAll runs the setups of findings on another version, one after another, and returns
// those findings of which a run could be made as they are then, also where it was stopped.
// A setup that cannot be repeated is told, and keeps no other from it. As a part of something
// named by whole each setup is run once, however often that is begun.
func (a *app) replayAll(ctx context.Context, out io.Writer, dir string, chosen []finding.Finding, on campaigns.Another, times int, whole string) (now []finding.Finding, err error) {
	made := map[string]bool{}
	for _, t := range finding.Replays(chosen, on) {
		fmt.Fprintf(out, "%s on %s: %s\n", t.Shown().Scenario, t.Shown().On(), strings.Join(t.IDs(), ", "))
		job, text, err := t.Job(dir, on, times)
		if err != nil {
			fmt.Fprintf(out, "  it is not repeated: %v\n", err)
			continue
		}
		if whole != "" {
			job.For = fmt.Sprintf("%s: %+v", whole, t.Setup)
		}
		r, err := a.workHere(ctx, out, job, text, jobAsk{})
		for _, trial := range r.Trials {
			for _, id := range t.IDs() {
				made[id] = made[id] || trial.State != ""
			}
		}
		if ctx.Err() != nil || errors.As(err, new(exit)) { // it was stopped
			break
		}
		if err != nil {
			fmt.Fprintf(out, "  it is not repeated: %v\n", err)
		}
	}
	all, err := finding.Load(dir)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(out)
	for _, f := range chosen {
		id := f.ID
		if f, err = all.Find(id); err != nil {
			fmt.Fprintf(out, "%s: it is no finding any more\n", id)
			continue
		}
		fmt.Fprintf(out, "%s: %s\n", f.ID, f.Status)
		if made[f.ID] {
			now = append(now, f)
		}
	}
	return now, ctx.Err()
}
