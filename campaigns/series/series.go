// Package series makes runs that are judged together: the attempts of a scenario, and those
// of a plan.
package series

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A Runner makes one run, and reports if a person stopped it. The run is one of several, or alone.
type Runner func(ctx context.Context, start keeper.Start, several bool) (run *reports.Summary, stopped bool, err error)

// Say prints a line.
type Say func(format string, args ...any)

// An Ask is a run, and how often it is made.
type Ask struct {
	keeper.Start
	Repeat   int
	NoRepeat bool // a failure is not repeated
}

// repetitions of a run that failed: how often it fails is said of three.
const repetitions = 2

// Check returns an error for an ask that cannot be carried out.
func (a Ask) Check() error {
	if a.Repeat < 1 {
		return fmt.Errorf("run: --repeat is %d, expected 1 or more", a.Repeat)
	}
	return nil
}

// caller is a person who runs a scenario.
func caller(scenario string) keeper.Caller {
	return keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "run", Args: map[string]any{"scenario": scenario}}
}

// Lasts says how long the runs take if they pass, and if the first one fails, is drained to
// the end and is repeated.
func (a Ask) Lasts() (string, error) {
	s, err := scenarios.Load(a.Scenario)
	if err != nil {
		return "", err
	}
	tier, err := s.Tier(a.Tier, cmp.Or(a.Cluster.Flavor, s.Cluster.Flavor))
	if err != nil {
		return "", err
	}
	passes, fails := experiment.Lasts(s, tier)
	if a.Repeat > 1 {
		passes, fails = passes*time.Duration(a.Repeat), fails*time.Duration(a.Repeat)
	} else if !a.NoRepeat {
		fails *= 1 + repetitions
	}
	return fmt.Sprintf("%s takes about %s, up to %s if it fails", s.Name, about(passes), about(fails)), nil
}

// about is a duration in seconds, or in minutes if it has two.
func about(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// Made are the runs of an ask, the oldest first.
type Made struct {
	Dirs  []string
	Cells []campaigns.Cell
}

// Make checks that the broker can be reached, and makes the runs. A run that failed, and was not
// expected to, is repeated with its seed. A repetition that cannot be made is no error: the
// runs before it stand.
func (a Ask) Make(ctx context.Context, one Runner, say Say) (made Made, err error) {
	if err := attempt.Reach(ctx, a.Start, ""); err != nil {
		return made, err
	}
	lasts, err := a.Lasts()
	if err != nil {
		return made, err
	}
	say("%s", lasts)
	a.Caller = caller(a.Scenario)
	a.Scenario = scenarios.Absolute(a.Scenario)
	for n := a.Repeat; len(made.Dirs) < n; {
		if n > 1 {
			say("attempt %d of %d", len(made.Dirs)+1, n)
		}
		run, stopped, err := one(ctx, a.Start, n > 1)
		if err != nil && len(made.Dirs) < a.Repeat {
			return made, err
		}
		if err != nil {
			say("it could not be repeated: %v", err)
			break
		}
		cell, err := campaigns.ReadUnsealed(run.Dir)
		if err != nil {
			return made, err
		}
		made.Dirs, made.Cells = append(made.Dirs, run.Dir), append(made.Cells, cell)
		if stopped {
			break
		}
		if n == 1 && run.Verdict.State.Failed() && run.Verdict.Severity != verdict.Expected && !a.NoRepeat {
			n, a.Seed = 1+repetitions, run.Seed
			say("\nit is repeated %d times with seed %d, to see whether it fails again; Ctrl-C, or --no-repeat, leaves it at that", repetitions, run.Seed)
		}
	}
	return made, nil
}

// Verdict is that of all runs together.
func (m Made) Verdict() verdict.Verdict {
	attempts := make([]verdict.Attempt, len(m.Cells))
	for i, c := range m.Cells {
		attempts[i] = c.Attempt()
	}
	return verdict.Series(attempts)
}

// Join returns the table of the runs, "" if they agree, and tells the report of each of the
// others.
func (m Made) Join() (table string, err error) {
	table = campaigns.Compare(m.Cells).Table.String()
	series := campaigns.SeriesOf(m.Cells)
	for _, run := range m.Dirs {
		if err := reports.JoinSeries(run, series); err != nil {
			return table, fmt.Errorf("note in the report of %s that it was repeated: %w", run, err)
		}
	}
	return table, nil
}
