package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/campaigns/random"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A campaignAsk are the flags of campaign.
type campaignAsk struct {
	spaceAsk
	set    map[string]string
	seed   int64
	within time.Duration
	runs   int
	keep   string
	reduce bool
	small  jobs.Reduction
	fresh  bool
	asJSON bool
}

// defaultCampaign keeps everything, and reduces each failure for half an hour at most.
func defaultCampaign() campaignAsk {
	return campaignAsk{keep: "all", small: jobs.Reduction{Rule: jobs.DefaultReduction().Rule, Runs: 60, Within: 30 * time.Minute}}
}

func (a *app) campaign() *cobra.Command {
	ask := defaultCampaign()
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
			ask.cluster.Settings = settings(ask.set)
			sum, stopped, err := a.runCampaign(cmd.Context(), cmd.OutOrStdout(), ask)
			if err != nil {
				return err
			}
			return campaignExit(sum, stopped)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&ask.within, "for", 30*time.Minute, "time for all runs and reductions; 0: until --runs")
	f.IntVar(&ask.runs, "runs", 0, "at most so many runs, without those of reductions; 0: no limit")
	f.Int64Var(&ask.seed, "seed", 0, "of all that is drawn (default: of the clock)")
	f.StringVar(&ask.cluster.Flavor, "flavor", cluster.DefaultFlavor, "what the nodes are: "+strings.Join(cluster.FlavorNames(cluster.Own), ", "))
	f.StringSliceVar(&ask.sdks, "sdk", nil, "client libraries to draw from: go, python@2.x, js/mqtt@latest (default: those in this program)")
	f.StringVar(&ask.protocol, "protocol", "", "mqtt3 or mqtt5 alone (default: both, as far as they are spoken)")
	f.StringVar(&ask.envelope, "envelope", "", "`file` with limits that no scenario may leave, as of serve")
	f.StringVar(&ask.keep, "keep", ask.keep, "all; or findings: of a run that passes, the history and the logs are removed")
	f.BoolVar(&ask.reduce, "reduce", false, "reduce each failure that was not seen before")
	f.IntVar(&ask.small.Rule.K, "fails", ask.small.Rule.K, "of a reduction: runs of a candidate that must fail")
	f.IntVar(&ask.small.Rule.N, "of", ask.small.Rule.N, "of a reduction: runs of a candidate, at most")
	f.IntVar(&ask.small.Runs, "reduce-runs", ask.small.Runs, "of each reduction: at most so many runs; 0: no limit")
	f.DurationVar(&ask.small.Within, "reduce-for", ask.small.Within, "of each reduction: at most so long, and never longer than --for leaves")
	f.BoolVar(&ask.fresh, "fresh", false, "start over, even if the same campaign did not end")
	f.BoolVar(&ask.asJSON, "json", false, "print campaign.json on stdout, and nothing else there")
	clusterFlags(f, &ask.cluster, &ask.set)
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

func (ask campaignAsk) check() error {
	switch {
	case ask.within < 0 || ask.runs < 0 || ask.small.Runs < 0 || ask.small.Within <= 0:
		return errors.New("campaign: --for, --runs and --reduce-runs are 0 or more, --reduce-for is more than 0")
	case ask.within == 0 && ask.runs == 0:
		return errors.New("campaign: it would never end; give --for or --runs")
	case ask.seed < 0:
		return fmt.Errorf("campaign: --seed is %d, expected 0 or more", ask.seed)
	case ask.keep != "all" && ask.keep != "findings":
		return fmt.Errorf("campaign: --keep is %q, expected all or findings", ask.keep)
	}
	if err := ask.small.Rule.Check(); err != nil {
		return fmt.Errorf("campaign: --fails and --of: %w", err)
	}
	return nil
}

// runCampaign makes the runs of a campaign, prints what they show together and returns it, also
// beside an error. It is no error that ctx ended before the campaign did.
func (a *app) runCampaign(ctx context.Context, out io.Writer, ask campaignAsk) (sum campaigns.SearchSummary, stopped bool, err error) {
	if err := ask.check(); err != nil {
		return sum, false, err
	}
	dir, err := a.state()
	if err != nil {
		return sum, false, err
	}
	argv, err := self()
	if err != nil {
		return sum, false, err
	}
	show := newMatrixDisplay(sayTo(out, ask.asJSON))
	ctx, stop := interrupted(ctx)
	defer stop()
	space, err := ask.space(ctx, dir, argv, show)
	if err != nil {
		return sum, false, err
	}
	s, err := ask.search(dir, space, show)
	if err != nil {
		return sum, false, err
	}
	unlock, err := s.Lock()
	if err != nil {
		return sum, false, err
	}
	defer unlock()
	show.say("seed %d, %d kinds of faults, %d client libraries, in %s", s.Plan.Seed, len(space.Kinds()), len(space.Clients), s.Dir)
	err = s.Run(ctx, ask.backend(dir, argv, s, show))
	show.close()
	if stopped = ctx.Err() != nil; stopped {
		err = nil
	}
	sum = s.Summary()
	if ask.asJSON {
		return sum, stopped, errors.Join(err, writeJSON(out, sum))
	}
	return sum, stopped, errors.Join(err, printCampaign(out, s.Dir, sum, stopped))
}

// search goes on with a campaign on the same build that did not end, or begins it.
func (ask campaignAsk) search(dir string, space random.Space, show *matrixDisplay) (*campaigns.Search, error) {
	on, err := campaigns.BuildOf(ask.binary)
	if err != nil {
		return nil, fmt.Errorf("begin a campaign: %w", err)
	}
	plan := campaigns.SearchPlan{Seed: ask.seed, Space: space, Cluster: ask.cluster, Build: on, MaxRuns: ask.runs, MaxS: ask.within.Seconds()}
	if !ask.fresh {
		s, err := campaigns.UnfinishedSearch(dir, plan)
		if err != nil {
			return nil, err
		}
		if s != nil {
			show.say("resuming %s after %d runs; --fresh starts over", s.ID(), len(s.Rounds))
			return s, nil
		}
	}
	if plan.Seed == 0 {
		plan.Seed = 1 + rand.Int64N(1<<31-1)
	}
	plan.Command = ask.command(plan.Seed)
	return campaigns.NewSearch(dir, plan, time.Now())
}

// backend is what a campaign acts through: keepers, and reductions in this process.
func (ask campaignAsk) backend(dir string, argv []string, s *campaigns.Search, show *matrixDisplay) campaigns.SearchBackend {
	caller := keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "campaign", Args: map[string]any{"campaign": s.ID()}}
	runDir := func(run string) string { return filepath.Join(dir, reports.RunsDir, run) }
	backend := campaigns.SearchBackend{
		Run: func(ctx context.Context, file string, seed int64) (string, error) {
			return runner(dir, argv, nil).Run(ctx, keeper.Start{Scenario: file, Cluster: s.Plan.Cluster, Seed: seed, Caller: caller, Envelope: s.Plan.Space.Limits})
		},
		Read: func(run string) (campaigns.Judged, error) { return campaigns.ReadJudged(runDir(run)) },
		Begins: func(n int, title string) {
			show.building(fmt.Sprintf("run %d, %.0f min so far: %s", n, s.SpentS()/60, title))
		},
		Ends: func(r campaigns.Round) { show.say("%s", roundLine(show.paint, r)) },
		Tell: func(text string) { show.say("     %s", short(text)) },
	}
	if ask.keep == "findings" {
		backend.Passed = func(run string) error { return campaigns.Slim(runDir(run)) }
	}
	if ask.reduce {
		backend.Reduce = func(ctx context.Context, run string, claims []string, within time.Duration) (campaigns.Result, error) {
			want := ask.small
			want.Claims, want.Within = claims, min(want.Within, within)
			job, text, err := jobs.Reduce(dir, runDir(run), "", want)
			if err != nil {
				return campaigns.Result{}, err
			}
			job.Start.Caller, job.Start.Envelope = caller, s.Plan.Space.Limits
			jobDir, err := jobs.Open(dir, job, text, false)
			if err != nil {
				return campaigns.Result{}, err
			}
			return jobs.Work(ctx, runner(dir, argv, func(line string) { show.say("     %s", line) }), jobDir, func() {})
		}
	}
	return backend
}

// install makes the drivers ready, before the first run: what builds one would
// starve it.
func install(ctx context.Context, dir string, argv []string, list []random.Client, show *matrixDisplay) error {
	var sdks []clients.SDK
	for _, c := range list {
		sdks = append(sdks, c.SDK)
	}
	var errs []error
	clients.Install(ctx, experiment.CacheDir(dir), argv, sdks, show.building, func(i clients.Installation) {
		show.installed(i)
		if i.Err != nil {
			errs = append(errs, fmt.Errorf("campaign: make %s ready: %w; leave it out of --sdk", i.SDK, i.Err))
		}
	})
	return errors.Join(errs...)
}
