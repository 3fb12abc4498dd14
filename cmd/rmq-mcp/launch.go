package main

import (
	"context"

	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// launch starts an experiment, after its driver and its broker were fetched and built. It
// is refused before that where its parts do not fit together. Tell gets the progress, and
// may be nil.
func launch(ctx context.Context, dir string, argv []string, start keeper.Start, tell func(string)) (*keeper.Client, error) {
	var err error
	if start.Scenario != "" { // one that is explored by hand has no driver yet
		err = experiment.Provision(ctx, dir, argv, start, tell)
	}
	if err != nil {
		return nil, err
	}
	if start.Cluster, err = experiment.Fetch(ctx, dir, start.Cluster, tell); err != nil {
		return nil, err
	}
	return keeper.Spawn(ctx, keeper.SpawnOptions{StateDir: dir, Self: argv, Start: start})
}
