package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/searches"
	"github.com/robustmq/rmq-mcp/campaigns/subject"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A campaignAsk are the flags of campaign.
type campaignAsk struct {
	searches.Ask
	asJSON bool
}

func (a *app) campaign() *cobra.Command {
	ask := campaignAsk{Ask: searches.Default()}
	cmd := &cobra.Command{
		Use:   "campaign",
		Short: "Run random faults and workloads for hours, favouring what was tried least",
		Long: "Draws one scenario after the other from what can be done to a broker here, one to four faults of each, runs and judges it,\n" +
			"and draws the next where coverage (fault, role, phase, workload, client library) is thin. Failures are grouped by what fails;\n" +
			"with --reduce each new one is reduced to its core. The same seed draws the same.\n" +
			"Ctrl-C stops in order and shows what was found; the same command resumes (docs/campaigns.md);\n" +
			"another build of the broker is another campaign.\n" +
			"Exit status: 0 nothing was found, 1 something was, 2 stopped before, or no run passed, 3 the harness could not do its job.",
		Example: "  rmq-mcp campaign --for 8h --reduce\n  rmq-mcp campaign --flavor mosquitto --runs 20 --seed 7 --keep findings\n  rmq-mcp run mqtt/random --seed 1934    one of its scenarios again",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask.Cluster.Flavor = cmp.Or(ask.Cluster.Flavor, subject.DefaultFlavor)
			sum, stopped, err := a.runCampaign(cmd.Context(), cmd.OutOrStdout(), ask)
			if err != nil {
				return err
			}
			return campaignExit(sum, stopped)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&ask.Within, "for", 30*time.Minute, "time for all runs and reductions; 0: until --runs")
	f.IntVar(&ask.Runs, "runs", 0, "at most so many runs, without those of reductions; 0: no limit")
	f.Int64Var(&ask.Seed, "seed", 0, "of all that is drawn (default: of the clock)")
	f.StringVar(&ask.Cluster.Flavor, "flavor", "", "what the nodes are: "+subject.OwnFlavors()+" (default "+subject.DefaultFlavor+")")
	f.StringSliceVar(&ask.SDKs, "sdk", nil, "client libraries to draw from: go, python@2.x, js/mqtt@latest (default: those in this program)")
	f.StringVar(&ask.Protocol, "protocol", "", "mqtt3 or mqtt5 alone (default: both, as far as they are spoken)")
	f.StringVar(&ask.Envelope, "envelope", "", "`file` with limits that no scenario may leave, as of serve")
	f.StringVar(&ask.Keep, "keep", ask.Keep, "all; or findings: of a run that passes, the history and the logs are removed")
	f.BoolVar(&ask.Reduce, "reduce", false, "reduce each failure that was not seen before")
	f.IntVar(&ask.Small.Rule.K, "fails", ask.Small.Rule.K, "of a reduction: runs of a candidate that must fail")
	f.IntVar(&ask.Small.Rule.N, "of", ask.Small.Rule.N, "of a reduction: runs of a candidate, at most")
	f.IntVar(&ask.Small.Runs, "reduce-runs", ask.Small.Runs, "of each reduction: at most so many runs; 0: no limit")
	f.DurationVar(&ask.Small.Within, "reduce-for", ask.Small.Within, "of each reduction: at most so long, and never longer than --for leaves")
	f.BoolVar(&ask.Fresh, "fresh", false, "start over, even if the same campaign did not end")
	f.BoolVar(&ask.asJSON, "json", false, "print campaign.json on stdout, and nothing else there")
	subject.Flags(f, &ask.Cluster)
	return cmd
}

// campaignExit is nil where runs passed and nothing was found. A run that only a library's
// known defect failed shows nothing of the broker.
func campaignExit(sum campaigns.SearchSummary, stopped bool) error {
	switch {
	case len(sum.Findings) > 0:
		return exit(1)
	case sum.Errors > 0 && len(sum.States) == 0: // no run could be made
		return exit(exitHarness)
	case stopped || sum.States[verdict.PassSmoke]+sum.States[verdict.PassHardening] == 0:
		return exit(exitUndecided)
	}
	return nil
}

// runCampaign makes the runs of a campaign, prints what they show together and returns it, also
// beside an error. It is no error that ctx ended before the campaign did.
func (a *app) runCampaign(ctx context.Context, out io.Writer, ask campaignAsk) (sum campaigns.SearchSummary, stopped bool, err error) {
	if err := ask.Check(); err != nil {
		return sum, false, err
	}
	r, err := a.runner()
	if err != nil {
		return sum, false, err
	}
	d := newMatrixDisplay(sayTo(out, ask.asJSON))
	show := d.search()
	ctx, stop := interrupted(ctx)
	defer stop()
	s, err := searches.Open(ctx, r, ask.Ask, show)
	if err != nil {
		return sum, false, err
	}
	unlock, err := s.Lock()
	if err != nil {
		return sum, false, err
	}
	defer unlock()
	d.say("seed %d, %d kinds of faults, %d client libraries, in %s", s.Plan.Seed, len(s.Plan.Space.Kinds()), len(s.Plan.Space.Clients), s.Dir)
	err = searches.Run(ctx, r, s, ask.Ask, show)
	d.close()
	if stopped = ctx.Err() != nil; stopped {
		err = nil
	}
	sum = s.Summary()
	if ask.asJSON {
		return sum, stopped, errors.Join(err, writeJSON(out, sum))
	}
	return sum, stopped, errors.Join(err, printCampaign(out, s.Dir, sum, stopped))
}

// search shows a campaign.
func (d *matrixDisplay) search() searches.Show {
	return searches.Show{
		Say:       func(line string) { d.say("%s", line) },
		Detail:    func(line string) { d.say("     %s", line) },
		Building:  d.building,
		Installed: d.installed,
		Ends:      func(r campaigns.Round) { d.say("%s", roundLine(d.paint, r)) },
	}
}

// randomScenario is the name under which run draws a scenario by its seed.
const randomScenario = "mqtt/random"

// draw writes the scenario of a run's seed into the state directory, and has the run use it. Without a
// seed it takes one.
func draw(ctx context.Context, runner attempt.Runner, start *keeper.Start, d *matrixDisplay) error {
	start.Cluster.Flavor = cmp.Or(start.Cluster.Flavor, subject.DefaultFlavor)
	start.Seed = cmp.Or(start.Seed, 1+rand.Int64N(1<<31-1))
	target := searches.Target{Cluster: start.Cluster, Protocol: start.Protocol}
	if start.SDK != "" {
		sdk, err := clients.ResolveFor(start.SDK, start.Protocol)
		if err != nil {
			return err
		}
		target.SDKs = []string{sdk.String()}
	}
	file, title, err := searches.Draw(ctx, runner, target, start.Seed, d.search())
	if err != nil {
		return err
	}
	d.say("seed %d draws: %s", start.Seed, title)
	start.Scenario, start.SDK, start.Protocol = file, "", "" // the scenario says the others
	return nil
}
