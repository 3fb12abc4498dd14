package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/reports"
)

// matrixWork is what a matrix acts through: keepers, and the drivers' cache.
func (a *app) matrixWork(dir string, argv []string, store *campaigns.Store, out string, show *matrixDisplay) campaigns.Work {
	return campaigns.Work{
		Provision: func(ctx context.Context, sdks []clients.SDK, done func(clients.Installation)) {
			clients.Install(ctx, experiment.CacheDir(dir), argv, sdks, show.building, func(i clients.Installation) {
				if ctx.Err() == nil { // else it was cut off
					show.installed(i)
					done(i)
				}
			})
		},
		Run: func(ctx context.Context, e campaigns.Entry) (string, error) {
			return runCell(ctx, dir, argv, store.Plan, e)
		},
		Read: func(run string) (campaigns.Cell, error) {
			return campaigns.Read(filepath.Join(dir, reports.RunsDir, run))
		},
		Save: func(m reports.Matrix) error { return saveMatrix(dir, out, store, m) },
		Tell: show.tell,
	}
}

// cellConfig is the cluster of a cell.
func cellConfig(p campaigns.Plan, e campaigns.Entry) cluster.Config {
	config := p.Config
	if e.Referee == campaigns.RefereeControl {
		config = campaigns.ControlCluster(config, e.Flavor)
	}
	config.Flavor, config.Arm = e.Flavor, e.Arm
	return config
}

// runCell is one ordinary run of a matrix.
func runCell(ctx context.Context, dir string, argv []string, p campaigns.Plan, e campaigns.Entry) (string, error) {
	start := cellStart(p, e)
	start.Caller = keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "matrix", Args: map[string]any{"scenario": e.Scenario, "sdk": e.SDK}}
	return runner(dir, argv, nil).Run(ctx, start)
}

func cellStart(p campaigns.Plan, e campaigns.Entry) keeper.Start {
	return keeper.Start{
		Scenario: e.Scenario, Cluster: cellConfig(p, e), SDK: e.SDK, Protocol: e.Protocol, Transport: e.Transport,
		Seed: p.Seed, Tier: p.Tier, NoFaults: e.NoFaults,
	}
}

// runner makes runs in the state directory.
func (a *app) runner() (attempt.Runner, error) {
	dir, err := a.state()
	if err != nil {
		return attempt.Runner{}, err
	}
	argv, err := self()
	return runner(dir, argv, nil), err
}

// runner makes runs, which an interrupt ends in order. Tell may be nil.
func runner(dir string, argv []string, tell func(string)) attempt.Runner {
	return attempt.Runner{Dir: dir, Self: argv, Tell: tell, Stop: endInOrder}
}

// endInOrder stops a run and waits until it is sealed, because the next run beside it would
// disturb both. A second interrupt leaves it to its keeper.
func endInOrder(ctx context.Context, client *keeper.Client, caller keeper.Caller) error {
	ctx, leave := interrupted(context.WithoutCancel(ctx))
	defer leave()
	fmt.Fprintf(os.Stderr, "rmq-mcp: stopping run %s: heals, drains and judges what happened; interrupt again to leave it to its keeper\n", client.Info().ID)
	_, err := client.Stop(ctx, caller)
	switch {
	case errors.Is(err, keeper.ErrGone):
		return nil
	case ctx.Err() != nil:
		return left(client)
	}
	return err
}
