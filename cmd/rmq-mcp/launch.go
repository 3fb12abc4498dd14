package main

import (
	"context"
	"os"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/secret"
)

// passwordEnv is the password of a user name that was given for brokers of somebody else.
const passwordEnv = "RMQ_PASSWORD"

// login adds the password to external brokers, where a user name was given
// and nothing else.
func login(c cluster.Config) cluster.Config {
	if c.Foreign() && c.Username != "" && c.Password.IsZero() {
		c.Password = secret.NewText(os.Getenv(passwordEnv))
	}
	return c
}

// launch starts an experiment, after its driver and its broker were fetched and built. It
// is refused before that where its parts do not fit together. Tell gets the progress, and
// may be nil.
func launch(ctx context.Context, dir string, argv []string, start keeper.Start, tell func(string)) (*keeper.Client, error) {
	var err error
	start.Cluster = login(start.Cluster)
	if start.Scenario != "" { // one that is explored by hand has no driver yet
		err = experiment.Provision(ctx, dir, argv, start, tell)
	}
	if err != nil {
		return nil, err
	}
	if start.Cluster, err = experiment.Fetch(ctx, dir, start.Cluster, tell); err != nil {
		return nil, err
	}
	alone, err := experiment.Alone(start)
	if err != nil {
		return nil, err
	}
	return keeper.Spawn(ctx, keeper.SpawnOptions{StateDir: dir, Self: argv, Start: start, Alone: alone})
}
