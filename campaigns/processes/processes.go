// Package processes has the processes of an experiment, as which this program starts itself
// again.
package processes

import (
	"context"
	"fmt"
	"net/netip"
	"os"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/builtin"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/broker/reference"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
	"github.com/robustmq/rmq-mcp/internal/mechanism/diskprobe"
	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Main is the main function of a process.
type Main func(ctx context.Context, args []string) error

// All are the processes by the names of their commands.
func All() map[string]Main {
	return map[string]Main{
		"guard":   func(_ context.Context, args []string) error { return keeper.GuardMain(args, attempt.Recover) },
		"keeper":  func(_ context.Context, args []string) error { return keeper.KeeperMain(args, newExperiment) },
		"isolate": func(context.Context, []string) error { return keeper.IsolateMain() },
		"node": func(ctx context.Context, args []string) error {
			return reference.Main(ctx, append(args, "-build", build.Version()), os.Stdout)
		},
		"disk":      func(ctx context.Context, args []string) error { return disk.Main(ctx, args, os.Stdin, os.Stdout) },
		"driver":    func(_ context.Context, args []string) error { return builtin.Main(first(args), os.Stdin, os.Stdout) },
		"hold":      func(_ context.Context, args []string) error { return docker.HoldMain(args) },
		"diskprobe": func(_ context.Context, args []string) error { return diskprobe.Main(args, os.Stdin, os.Stdout) },
		"inside": func(ctx context.Context, args []string) error {
			return cluster.InsideMain(ctx, args, os.Stdin, os.Stdout)
		},
		"network": network,
		"witness": func(_ context.Context, args []string) error { return cluster.ServeWitness(first(args), os.Stdin) },
	}
}

// network is the agent of a pod for faults between pods.
func network(ctx context.Context, _ []string) error {
	own, err := netip.ParseAddr(os.Getenv("POD_IP"))
	if err != nil {
		return fmt.Errorf("network: this command is rmq-mcp's own, for the pods of a run: %w", err)
	}
	return router.Serve(ctx, own, os.Stdin, os.Stdout)
}

// newExperiment is the keeper's Runner.
func newExperiment(_ context.Context, env keeper.Env, start keeper.Start) (keeper.Experiment, error) {
	e, err := experiment.New(build.Version(), env, start, verdict.DecideLanding)
	if err != nil {
		return nil, err // not a nil *Experiment in a non-nil interface
	}
	e.Place = func() error { return plan.Place(context.Background(), env.StateDir, env.Dir) }
	return e, nil
}

func first(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
