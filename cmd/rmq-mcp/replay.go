package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

const maxReplays = 1000

// jobAsk are the flags that replay and reduce share.
type jobAsk struct {
	binary string
	fresh  bool
	asJSON bool
}

func (ask *jobAsk) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&ask.binary, "binary", "", "`path` where the run's broker is now, if it was moved; another build is refused")
	f.BoolVar(&ask.fresh, "fresh", false, "start over, even if the same job did not end")
	f.BoolVar(&ask.asJSON, "json", false, "print result.json on stdout, and nothing else there")
}

func (a *app) replay() *cobra.Command {
	var ask jobAsk
	var times int
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Repeat a run, and count how often it fails again",
		Long: "Runs what a run's record froze (scenario, workload, schedule, seed, SDK, broker) several times, one after another. Each is a\n" +
			"run of its own; the answer is in how many of them the same claims fail by the same checkers. Each report says\n" +
			"how often its failure came in all repetitions of the run, those of earlier commands among them.\n" +
			"It stops if the broker is another build by now.\n" +
			"Ctrl-C stops in order; the same command resumes.\n" +
			"Exit status: that of the run and its repetitions as a series: 0 PASS, 1 FAIL, 2 could not be told, 3 the harness could not do its job.",
		Example: "  rmq-mcp replay latest\n  rmq-mcp replay 1129-0931-broker-kill-9-1d26 --times 5",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if times < 1 || times > maxReplays {
				return fmt.Errorf("replay: --times is %d, expected 1 to %d", times, maxReplays)
			}
			dir, err := a.find(args[0])
			if err != nil {
				return err
			}
			job, text, err := jobs.Replay(a.dir, dir, ask.binary, times)
			if err != nil {
				return err
			}
			r, err := a.workHere(cmd.Context(), cmd.OutOrStdout(), job, text, ask)
			if err != nil {
				return err
			}
			return exitFor(r.State)
		},
	}
	cmd.Flags().IntVar(&times, "times", 3, "how many runs")
	ask.flags(cmd)
	return cmd
}

// workHere carries a job out in this process, or goes on with the same one, and
// prints what came of it.
func (a *app) workHere(ctx context.Context, out io.Writer, job campaigns.Job, scenario string, ask jobAsk) (campaigns.Result, error) {
	dir, err := a.state()
	if err != nil {
		return campaigns.Result{}, err
	}
	say := sayTo(out, ask.asJSON)
	job.Start.Caller = keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: string(job.Kind), Args: map[string]any{"run": job.RunID}}
	jobDir, err := jobs.Open(dir, job, scenario, ask.fresh)
	if err != nil {
		return campaigns.Result{}, err
	}
	fmt.Fprintf(say, "%s\n%s\n", plain.Short(job.Was), jobDir.Dir)
	if n := len(jobDir.Trials); n > 0 {
		fmt.Fprintf(say, "resuming after %d runs; --fresh starts over\n", n)
	}
	argv, err := self()
	if err != nil {
		return campaigns.Result{}, err
	}
	ctx, stop := interrupted(ctx)
	defer stop()
	r, err := jobs.Work(ctx, runner(dir, argv, func(line string) { fmt.Fprintln(say, line) }), jobDir, func() {})
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(say, "stopped; the same command resumes\n")
		return r, exit(exitUndecided)
	}
	if err != nil {
		if r.Runs > 0 {
			fmt.Fprintf(say, "until now: %s\n", r.Headline)
		}
		return r, err
	}
	if ask.asJSON {
		return r, writeJSON(out, r)
	}
	_, err = fmt.Fprintf(out, "\n%s\n", r.Headline)
	if r.Table != nil && r.Comparison == nil { // a comparison prints it
		_, err = fmt.Fprintf(out, "\n%s", r.Table)
	}
	return r, err
}
