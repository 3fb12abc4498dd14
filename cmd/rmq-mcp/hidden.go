package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
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
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// hidden are the commands by which this binary starts itself again: the
// processes of an experiment.
func (a *app) hidden() []*cobra.Command {
	command := func(name string, main func(ctx context.Context, args []string) error) *cobra.Command {
		return &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(cmd *cobra.Command, args []string) error { return main(cmd.Context(), args) }}
	}
	return []*cobra.Command{
		command("guard", func(_ context.Context, args []string) error { return keeper.GuardMain(args, attempt.Recover) }),
		command("keeper", func(_ context.Context, args []string) error { return keeper.KeeperMain(args, newExperiment) }),
		command("job", jobMain),
		command("isolate", func(context.Context, []string) error { return keeper.IsolateMain() }),
		command("node", func(ctx context.Context, args []string) error {
			return reference.Main(ctx, append(args, "-build", build.Version()), os.Stdout)
		}),
		command("disk", func(ctx context.Context, args []string) error { return disk.Main(ctx, args, os.Stdin, os.Stdout) }),
		command("driver", func(_ context.Context, args []string) error { return builtin.Main(first(args), os.Stdin, os.Stdout) }),
		command("hold", func(_ context.Context, args []string) error { return docker.HoldMain(args) }),
		command("diskprobe", func(_ context.Context, args []string) error { return diskprobe.Main(args, os.Stdin, os.Stdout) }),
		command("witness", func(_ context.Context, args []string) error { return cluster.ServeWitness(first(args), os.Stdin) }),
	}
}

// jobMain is the process of a job: the state directory, and the job's ID.
func jobMain(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("job: this command is rmq-mcp's own; run `rmq-mcp replay`, `rmq-mcp blame` or `rmq-mcp reduce` instead")
	}
	argv, err := self()
	if err != nil {
		return err
	}
	ctx, stop := interrupted(ctx)
	defer stop()
	return jobs.Main(ctx, runner(args[0], argv, nil), args[1])
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
