// Package matrices makes matrices: scenarios with several client libraries, brokers and protocols, from
// their plan to the reports of their runs.
package matrices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/reports"
)

// Referees is how many further runs decide what deviates, by default.
const Referees = 12

// An Ask is a matrix to make.
type Ask struct {
	Names  []string // scenarios, or patterns of them; none with Resume
	Order  campaigns.Order
	Limits campaigns.Limits
	Resume bool   // the newest matrix that did not end
	Fresh  bool   // start over, even if the same matrix did not end
	Once   bool   // an ended matrix of the same seed is not made again
	Out    string // a further directory for its pages; "" for none
}

// Check returns an error for an ask that contradicts itself.
func (ask Ask) Check() error {
	switch {
	case len(ask.Names) == 0 && !ask.Resume:
		return errors.New("matrix: name a scenario, or give --resume; `rmq-mcp list scenarios` shows them")
	case ask.Order.Repeat < 1 || ask.Limits.Jobs < 0 || ask.Limits.Referees < 0:
		return errors.New("matrix: --repeat is 1 or more, --jobs and --referees are 0 or more")
	case ask.Order.NoFaults && ask.Order.Controls:
		return errors.New("matrix: give --no-faults or --controls, not both")
	case ask.Resume && ask.Fresh:
		return errors.New("matrix: give --resume or --fresh, not both")
	}
	return nil
}

// Show is the progress of a matrix.
type Show struct {
	Building  func(text string)
	Installed func(clients.Installation)
	Tell      func(campaigns.Event)
}

// Open returns a matrix that did not end, or begins one. It fetches the brokers first, as their
// versions are part of the plan.
func Open(ctx context.Context, r attempt.Runner, ask Ask) (*campaigns.Store, error) {
	if len(ask.Names) == 0 {
		s, err := campaigns.Unfinished(r.Dir, nil)
		if err == nil && s == nil {
			err = fmt.Errorf("matrix: every matrix in %s has ended; name a scenario to begin one", r.Dir)
		}
		return s, err
	}
	plan, err := planOf(ctx, r, ask.Names, ask.Order)
	if err != nil {
		return nil, err
	}
	if ask.Fresh {
		return create(r.Dir, plan)
	}
	s, err := campaigns.Unfinished(r.Dir, &plan)
	if ask.Once {
		s, err = campaigns.Begun(r.Dir, plan)
	}
	if err != nil {
		return nil, err
	}
	if s != nil {
		r.Say(fmt.Sprintf("resuming %s, begun %s; --fresh starts over", s.ID(), s.Started.Local().Format("01-02 15:04")))
		return s, nil
	}
	return create(r.Dir, plan)
}

// create begins a matrix, with a seed.
func create(dir string, plan campaigns.Plan) (*campaigns.Store, error) {
	if plan.Seed == 0 {
		plan.Seed = rand.Int64N(1 << 31)
	}
	plan.Command += fmt.Sprintf(" --seed %d", plan.Seed)
	return campaigns.Create(dir, plan, time.Now())
}

// Run makes the runs of a matrix that is locked, and notes it in their reports. Limits are those of the
// ask, with the jobs that the plan allows. If ctx ends before the matrix, the error is that of ctx, and
// the matrix can be resumed.
func Run(ctx context.Context, r attempt.Runner, store *campaigns.Store, ask Ask, show Show) (campaigns.Comparison, error) {
	c, err := campaigns.NewMatrix(store, workOf(r, store, ask.Out, show), ask.Limits).Run(ctx)
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return c, err
	}
	return c, join(r.Dir, store)
}

// workOf is the work of a matrix: runs, and drivers in their cache.
func workOf(r attempt.Runner, store *campaigns.Store, out string, show Show) campaigns.Work {
	return campaigns.Work{
		Provision: func(ctx context.Context, sdks []clients.SDK, done func(clients.Installation)) {
			clients.Install(ctx, experiment.CacheDir(r.Dir), r.Self, sdks, show.Building, func(i clients.Installation) {
				if ctx.Err() == nil { // else it was cut off
					show.Installed(i)
					done(i)
				}
			})
		},
		Run: func(ctx context.Context, e campaigns.Entry) (string, error) {
			return runCell(ctx, r, store.Plan, e)
		},
		Read: func(run string) (campaigns.Cell, error) {
			return campaigns.Read(filepath.Join(r.Dir, reports.RunsDir, run))
		},
		Save: func(m reports.Matrix) error { return save(r.Dir, out, store, m) },
		Tell: show.Tell,
	}
}

// cellConfig is the cluster of a cell.
func cellConfig(p campaigns.Plan, e campaigns.Entry) cluster.Config {
	config := p.Config
	if e.Referee == campaigns.RefereeControl {
		config = campaigns.ControlCluster(config, e.Flavor)
	}
	config = config.As(e.Flavor)
	config.Arm = e.Arm
	return config
}

// runCell is one ordinary run of a matrix.
func runCell(ctx context.Context, r attempt.Runner, p campaigns.Plan, e campaigns.Entry) (string, error) {
	start := cellStart(p, e)
	start.Caller = keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "matrix", Args: map[string]any{"scenario": e.Scenario, "sdk": e.SDK}}
	return r.Run(ctx, start)
}

// cellStart is the start of a cell's run.
func cellStart(p campaigns.Plan, e campaigns.Entry) keeper.Start {
	return keeper.Start{
		Scenario: e.Scenario, Cluster: cellConfig(p, e), SDK: e.SDK, Protocol: e.Protocol, Transport: e.Transport,
		Seed: p.Seed, Tier: p.Tier, NoFaults: e.NoFaults,
	}
}

// save writes the pages of a matrix into its directory, and into another one if out names it.
func save(dir, out string, store *campaigns.Store, m reports.Matrix) error {
	m.Tool = build.Version()
	if err := reports.WriteMatrix(store.Dir, "../../"+reports.RunsDir, m); err != nil {
		return err
	}
	if out == "" {
		return nil
	}
	to, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	runs := filepath.Join(dir, reports.RunsDir)
	if rel, err := filepath.Rel(to, runs); err == nil {
		runs = rel
	}
	return reports.WriteMatrix(to, filepath.ToSlash(runs), m)
}

// join notes the matrix in the report of each of its runs.
func join(dir string, store *campaigns.Store) error {
	m, err := reports.ReadMatrix(store.Dir)
	if err != nil {
		return err
	}
	for _, o := range store.Done {
		if o.RunID == "" {
			continue
		}
		if err := reports.JoinMatrix(filepath.Join(dir, reports.RunsDir, o.RunID), m); err != nil {
			return fmt.Errorf("note the matrix in the report of %s: %w", o.RunID, err)
		}
	}
	return nil
}

// Jobs returns how many runs of a plan are made at the same time, if so many were asked for; 0 leaves
// it to the machine. External brokers are the same for all runs. They have one at a time, and more only
// if no run's faults disturb another.
func Jobs(ctx context.Context, p campaigns.Plan, asked int) (int, error) {
	same := slices.ContainsFunc(p.Entries, func(e campaigns.Entry) bool { return cluster.FlavorNamed(e.Flavor).Foreign })
	felt := func(e campaigns.Entry) bool {
		alone, err := experiment.Alone(cellStart(p, e))
		return err == nil && alone // a cell that cannot be run says so later
	}
	switch {
	case same && asked > 1 && slices.ContainsFunc(p.Entries, felt):
		return 0, fmt.Errorf("matrix: --jobs %d has runs at one broker at the same time, and faults of one that another would feel; leave it out", asked)
	case asked > 0:
		return asked, nil
	case same:
		return 1, nil
	}
	return idleJobs(ctx), nil
}

// idleJobs is how many runs this machine can make at the same time without
// keeping any of them waiting: a run is idle for most of its time.
func idleJobs(ctx context.Context) int {
	const perProcessor = 1.5
	idle := campaigns.IdleProcessors(ctx, 500*time.Millisecond)
	return max(1, int(idle*perProcessor))
}
