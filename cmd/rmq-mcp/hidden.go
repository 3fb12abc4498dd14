package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/campaigns/processes"
)

// hidden are the commands by which this binary starts itself again: the
// processes of an experiment, and of a job.
func (a *app) hidden() (commands []*cobra.Command) {
	all := processes.All()
	all["job"] = jobMain
	for name, main := range all {
		commands = append(commands, &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(cmd *cobra.Command, args []string) error { return main(cmd.Context(), args) }})
	}
	return commands
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
