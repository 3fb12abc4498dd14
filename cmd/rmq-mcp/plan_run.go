package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/series"
	"github.com/robustmq/rmq-mcp/campaigns/subject"
)

func (a *app) planRun() *cobra.Command {
	var ask series.PlanAsk
	cmd := &cobra.Command{
		Use:   "run [PLAN]",
		Short: "Run what is NOT-RUN of a frozen plan, one attempt after the other",
		Long: "Makes the attempts that are missing, each as an ordinary run, with the scenario as it was frozen, until all are made or the\n" +
			"plan's budget is used. Ctrl-C stops in order; the same command resumes.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPlan(cmd.Context(), cmd.OutOrStdout(), args, ask)
		},
	}
	cmd.Flags().IntVar(&ask.Most, "most", 0, "so many attempts now and no more (default: all)")
	subject.Foreign(cmd.Flags(), &ask.Foreign)
	return cmd
}

func (a *app) runPlan(ctx context.Context, out io.Writer, args []string, ask series.PlanAsk) error {
	if err := ask.Check(); err != nil {
		return err
	}
	runs, err := a.runner()
	if err != nil {
		return err
	}
	r, err := findPlan(runs.Dir, planRef(args))
	if err != nil {
		return err
	}
	leave := func(err error) bool {
		var code exit
		return errors.As(err, &code)
	}
	if err := ask.Make(ctx, r, runs.Dir, one(runs, out, false), sayLine(out), leave); err != nil {
		return err
	}
	s, err := r.Look(runs.Dir)
	if err != nil {
		return err
	}
	printPlan(paintTo(out), out, s)
	return exitOf(s)
}
