package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Replay returns the job that repeats a run, and its scenario. Run is the directory of the run, binary
// its broker if that was moved.
func Replay(stateDir, run, binary string, times int) (campaigns.Job, string, error) {
	r, err := campaigns.ReadRecipe(stateDir, run, binary)
	if err != nil {
		return campaigns.Job{}, "", err
	}
	return campaigns.NewJob(campaigns.Replay, r, shrink.Rule{K: 1, N: times}), r.Text, nil
}

// A Reduction bounds how a run is reduced.
type Reduction struct {
	Claims []string // to fail; none: all failed ones
	Rule   shrink.Rule
	Runs   int           // of all candidates; 0: no limit
	Within time.Duration // of all runs; 0: no limit
}

// DefaultReduction takes a failure in two of three runs for one that comes again.
func DefaultReduction() Reduction {
	return Reduction{Rule: shrink.Rule{K: 2, N: 3}, Runs: 120, Within: 2 * time.Hour}
}

// Blame returns the job that varies a run's failure, each variation so many times, and its scenario.
func Blame(stateDir, run, binary, sdk string, times int) (campaigns.Job, string, error) {
	r, err := campaigns.ReadRecipe(stateDir, run, binary)
	if err != nil {
		return campaigns.Job{}, "", err
	}
	job := campaigns.NewJob(campaigns.Blame, r, shrink.Rule{K: 1, N: 1})
	if len(r.Wanted) == 0 {
		return job, "", fmt.Errorf("blame: run %s did not fail, so there is nothing to attribute: %s; `rmq-mcp list runs` shows those that did", job.RunID, plain.Short(r.Headline))
	}
	variations, err := variationsOf(r, sdk)
	job.Variations = slices.Repeat(variations, times)
	return job, r.Text, err
}

// variationsOf returns the variations of a run's failure.
func variationsOf(r campaigns.Recipe, sdk string) ([]campaigns.Variation, error) {
	s, err := scenarios.Parse(r.Run.Scenario, []byte(r.Text))
	if err != nil {
		return nil, err
	}
	return campaigns.VariationsOf(r, sdk, s.Crashes())
}

// Reduce returns the job that reduces a run, and its scenario.
func Reduce(stateDir, run, binary string, want Reduction) (campaigns.Job, string, error) {
	r, err := campaigns.ReadRecipe(stateDir, run, binary)
	if err != nil {
		return campaigns.Job{}, "", err
	}
	job := campaigns.NewJob(campaigns.Reduce, r, want.Rule)
	job.MaxRuns, job.MaxS = want.Runs, want.Within.Seconds()
	if len(r.Wanted) == 0 {
		return job, "", fmt.Errorf("reduce: run %s did not fail, so there is nothing to reduce: %s; `rmq-mcp list runs` shows those that did", job.RunID, plain.Short(r.Headline))
	}
	for _, c := range want.Claims {
		if !slices.Contains(r.Wanted.Claims(), c) {
			return job, "", fmt.Errorf("reduce: %s did not fail in run %s; there failed %s", c, job.RunID, strings.Join(r.Wanted.Claims(), ", "))
		}
	}
	job.Wanted = r.Wanted.Only(want.Claims)
	return job, r.Text, nil
}
