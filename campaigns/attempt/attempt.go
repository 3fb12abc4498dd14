// Package attempt makes runs, one at a time: it starts an experiment, waits for its end and reads
// what was decided. It also ends runs whose keeper is dead.
package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/reports"
)

// PasswordEnv is the environment variable with the password of external brokers.
const PasswordEnv = "RMQ_PASSWORD"

// Login adds the password to external brokers with a user name and no password.
func Login(c cluster.Config) cluster.Config {
	if c.Foreign() && c.Username != "" && c.Password.IsZero() {
		c.Password = secret.NewText(os.Getenv(PasswordEnv))
	}
	return c
}

// A Runner makes runs in a state directory.
type Runner struct {
	Dir  string            // of the state
	Self []string          // this program, as it is started again
	Tell func(line string) // gets the progress before a run begins; may be nil

	// Stop ends a run in order, because the context of [Runner.Run] has ended.
	Stop func(ctx context.Context, client *keeper.Client, caller keeper.Caller) error
}

// Say tells progress, if it is wanted.
func (r Runner) Say(line string) {
	if r.Tell != nil {
		r.Tell(line)
	}
}

// Start refuses parts that do not fit together, fetches and builds the driver and the broker, and
// starts the experiment.
func (r Runner) Start(ctx context.Context, start keeper.Start) (client *keeper.Client, err error) {
	start.Cluster = Login(start.Cluster)
	if start.Scenario != "" { // an exploration by hand has no driver yet
		err = experiment.Provision(ctx, r.Dir, r.Self, start, r.Tell)
	}
	if err != nil {
		return nil, err
	}
	if start.Cluster, err = experiment.Fetch(ctx, r.Dir, start.Cluster, r.Tell); err != nil {
		return nil, err
	}
	alone, err := experiment.Alone(start)
	if err != nil {
		return nil, err
	}
	return keeper.Spawn(ctx, keeper.SpawnOptions{StateDir: r.Dir, Self: r.Self, Start: start, Alone: alone})
}

// Run makes a run, from its start to its verdict, and returns its id. When ctx ends the run is
// stopped in order, which seals it.
func (r Runner) Run(ctx context.Context, start keeper.Start) (id string, err error) {
	summary, err := r.Summary(ctx, start)
	if err != nil {
		return "", err
	}
	return summary.ID, nil
}

// Summary makes a run as [Runner.Run] does, and returns its summary.
func (r Runner) Summary(ctx context.Context, start keeper.Start) (*reports.Summary, error) {
	client, err := r.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := Wait(ctx, client); err != nil && ctx.Err() == nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), r.Stop(ctx, client, start.Caller))
	}
	run := client.Info().Dir
	summary, err := AwaitSummary(run)
	if err != nil {
		return nil, fmt.Errorf("the run was not judged: %w; see %s", err, run)
	}
	Settled(ctx, r.Dir, summary.ID) // the next run may use the same brokers, and is refused if they are not free
	return summary, nil
}

// Wait waits for the end of an experiment. A keeper that is gone left a run directory.
func Wait(ctx context.Context, client *keeper.Client) error {
	for {
		s, err := client.Wait(ctx, 30*time.Second)
		if errors.Is(err, keeper.ErrGone) {
			return nil
		}
		if err != nil || s.Phase == history.PhaseDone {
			return err
		}
	}
}

// sealBound is how long sealing and judging may take after a keeper died: its guard does it then,
// or this process if the guard died too.
const sealBound = 30 * time.Second

// AwaitSummary waits until the summary of a run is there. Run is its directory.
func AwaitSummary(run string) (*reports.Summary, error) {
	for deadline := time.Now().Add(sealBound); ; time.Sleep(100 * time.Millisecond) {
		summary, err := reports.Dir(run).Summary()
		if err == nil {
			return summary, nil
		}
		_, unhealed := keeper.HealDead(filepath.Dir(filepath.Dir(run)), Recover)
		if time.Now().After(deadline) {
			return nil, errors.Join(err, unhealed)
		}
	}
}

// Settled waits, for a bounded time, until nothing of a run is left to undo.
func Settled(ctx context.Context, dir, id string) error {
	ctx, cancel := context.WithTimeout(ctx, sealBound)
	defer cancel()
	return keeper.Settled(ctx, dir, id)
}
