// Package searches makes campaigns of random faults and workloads, from their space to the reduction of
// their failures.
package searches

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports"
)

// An Ask is a campaign.
type Ask struct {
	Target
	Seed   int64         // of all draws; 0: drawn itself
	Within time.Duration // for all runs and reductions; 0: until Runs
	Runs   int           // without those of reductions; 0: no limit
	Keep   string        // KeepAll or KeepFindings
	Reduce bool          // each failure that is new
	Small  jobs.Reduction
	Fresh  bool // start over, even if the same campaign did not end
}

// Values of Keep.
const (
	KeepAll      = "all"
	KeepFindings = "findings" // of a run that passes, the history and the logs are removed
)

// Default keeps everything, and reduces each failure for half an hour at most.
func Default() Ask {
	return Ask{Keep: KeepAll, Small: jobs.Reduction{Rule: jobs.DefaultReduction().Rule, Runs: 60, Within: 30 * time.Minute}}
}

// Show is the progress of a campaign.
type Show struct {
	Say       func(line string)
	Detail    func(line string) // of the last run
	Building  func(text string)
	Installed func(clients.Installation)
	Ends      func(campaigns.Round)
}

// Check returns an error for an ask that cannot be carried out.
func (ask Ask) Check() error {
	switch {
	case ask.Within < 0 || ask.Runs < 0 || ask.Small.Runs < 0 || ask.Small.Within <= 0:
		return errors.New("campaign: --for, --runs and --reduce-runs are 0 or more, --reduce-for is more than 0")
	case ask.Within == 0 && ask.Runs == 0:
		return errors.New("campaign: it would never end; give --for or --runs")
	case ask.Seed < 0:
		return fmt.Errorf("campaign: --seed is %d, expected 0 or more", ask.Seed)
	case ask.Keep != KeepAll && ask.Keep != KeepFindings:
		return fmt.Errorf("campaign: --keep is %q, expected all or findings", ask.Keep)
	}
	if err := ask.Small.Rule.Check(); err != nil {
		return fmt.Errorf("campaign: --fails and --of: %w", err)
	}
	return nil
}

// Open resumes a campaign on the same build that did not end, or begins it. It fetches the broker and
// makes the client libraries ready.
func Open(ctx context.Context, r attempt.Runner, ask Ask, show Show) (*campaigns.Search, error) {
	space, binary, err := ask.space(ctx, r, show)
	if err != nil {
		return nil, err
	}
	on, err := campaigns.BuildOf(binary)
	if err != nil {
		return nil, fmt.Errorf("begin a campaign: %w", err)
	}
	plan := campaigns.SearchPlan{Seed: ask.Seed, Space: space, Cluster: ask.Cluster, Build: on, MaxRuns: ask.Runs, MaxS: ask.Within.Seconds()}
	if !ask.Fresh {
		s, err := campaigns.UnfinishedSearch(r.Dir, plan)
		if err != nil {
			return nil, err
		}
		if s != nil {
			show.Say(fmt.Sprintf("resuming %s after %d runs; --fresh starts over", s.ID(), len(s.Rounds)))
			return s, nil
		}
	}
	if plan.Seed == 0 {
		plan.Seed = 1 + rand.Int64N(1<<31-1)
	}
	plan.Command = ask.command(plan.Seed)
	return campaigns.NewSearch(r.Dir, plan, time.Now())
}

// Run makes the runs of a campaign that is locked, and its reductions.
func Run(ctx context.Context, r attempt.Runner, s *campaigns.Search, ask Ask, show Show) error {
	return s.Run(ctx, ask.backend(r, s, show))
}

// backend makes the runs and the reductions.
func (ask Ask) backend(r attempt.Runner, s *campaigns.Search, show Show) campaigns.SearchBackend {
	caller := keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "campaign", Args: map[string]any{"campaign": s.ID()}}
	runDir := func(run string) string { return filepath.Join(r.Dir, reports.RunsDir, run) }
	backend := campaigns.SearchBackend{
		Run: func(ctx context.Context, file string, seed int64) (string, error) {
			return r.Run(ctx, keeper.Start{Scenario: file, Cluster: s.Plan.Cluster, Seed: seed, Caller: caller, Envelope: s.Plan.Space.Limits})
		},
		Read: func(run string) (campaigns.Judged, error) { return campaigns.ReadJudged(runDir(run)) },
		Begins: func(n int, title string) {
			show.Building(fmt.Sprintf("run %d, %.0f min so far: %s", n, s.SpentS()/60, title))
		},
		Ends: show.Ends,
		Tell: func(text string) { show.Detail(plain.Short(text)) },
	}
	if ask.Keep == KeepFindings {
		backend.Passed = func(run string) error { return campaigns.Slim(runDir(run)) }
	}
	if ask.Reduce {
		backend.Reduce = func(ctx context.Context, run string, claims []string, within time.Duration) (campaigns.Result, error) {
			want := ask.Small
			want.Claims, want.Within = claims, min(want.Within, within)
			job, text, err := jobs.Reduce(r.Dir, runDir(run), "", want)
			if err != nil {
				return campaigns.Result{}, err
			}
			job.Start.Caller, job.Start.Envelope = caller, s.Plan.Space.Limits
			jobDir, err := jobs.Open(r.Dir, job, text, false)
			if err != nil {
				return campaigns.Result{}, err
			}
			worker := r
			worker.Tell = show.Detail
			return jobs.Work(ctx, worker, jobDir, func() {})
		}
	}
	return backend
}

// command is the command for the same campaign.
func (ask Ask) command(seed int64) string {
	name, value := cluster.FlavorNamed(ask.Cluster.Flavor).Flag()
	words := []string{"rmq-mcp campaign", "--" + name, value, "--for", ask.Within.String(), "--seed", fmt.Sprint(seed)}
	flag := func(name, value string) {
		if value != "" {
			words = append(words, "--"+name, value)
		}
	}
	number := func(name string, n int) {
		if n > 0 {
			flag(name, fmt.Sprint(n))
		}
	}
	number("runs", ask.Runs)
	number("nodes", ask.Cluster.Nodes)
	flag("sdk", strings.Join(ask.SDKs, ","))
	flag("protocol", ask.Protocol)
	flag("runtime", ask.Cluster.Runtime)
	flag("broker-version", ask.Cluster.Version)
	flag("profile", ask.Cluster.Profile)
	flag("arm", strings.Join(ask.Cluster.Arm, ","))
	flag("plant", ask.Cluster.Plant)
	for _, key := range slices.Sorted(maps.Keys(ask.Cluster.Settings)) {
		flag("set", fmt.Sprintf("%s=%v", key, ask.Cluster.Settings[key]))
	}
	flag("envelope", ask.Envelope)
	if ask.Keep != KeepAll {
		flag("keep", ask.Keep)
	}
	if ask.Reduce {
		words = append(words, "--reduce", "--fails", fmt.Sprint(ask.Small.Rule.K), "--of", fmt.Sprint(ask.Small.Rule.N),
			"--reduce-runs", fmt.Sprint(ask.Small.Runs), "--reduce-for", ask.Small.Within.String())
	}
	return strings.Join(words, " ")
}
