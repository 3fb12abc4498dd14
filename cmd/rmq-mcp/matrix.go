package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/matrices"
	"github.com/robustmq/rmq-mcp/campaigns/subject"
	"github.com/robustmq/rmq-mcp/reports"
)

func (a *app) matrix() *cobra.Command {
	var ask matrices.Ask
	cmd := &cobra.Command{
		Use:   "matrix [SCENARIO...]",
		Args:  cobra.ArbitraryArgs,
		Short: "Run scenarios with several client libraries, and attribute the differences",
		Long: "Runs scenarios with every SDK that shares a protocol with them and the broker, all with one seed, and says what each\n" +
			"deviation comes from. Deviations are run again with the tap armed, on a control broker and with the same seed.\n" +
			"SCENARIO is a name, a pattern like 'mqtt/*', or all.\n" +
			"Ctrl-C stops in order; the same command resumes.\n" +
			"Exit status: 0 nothing deviates, 1 something is broken, 2 that could not be told, 3 the harness could not do its job.",
		Example: "  rmq-mcp matrix mqtt/qos-roundtrip\n  rmq-mcp matrix mqtt/broker-kill-9 --flavor robustmq --sdk go,python@2.x --arm tap\n" +
			"  rmq-mcp matrix all --sdk default --controls --flavor robustmq\n  rmq-mcp matrix --resume",
		RunE: func(cmd *cobra.Command, args []string) error {
			ask.Names = args
			c, err := a.runMatrix(cmd.Context(), cmd.OutOrStdout(), ask)
			if err != nil {
				return err
			}
			if code := c.ExitCode(); code != 0 {
				return exit(code)
			}
			return nil
		},
	}
	f, o := cmd.Flags(), &ask.Order
	f.StringSliceVar(&o.SDKs, "sdk", nil, "client libraries: go, python@2.x, js/mqtt@latest; default is the scenario's (default: all)")
	f.StringSliceVar(&o.Flavors, "flavor", nil, "what the nodes are: "+subject.Flavors()+" (default: the scenario's)")
	f.StringSliceVar(&o.Protocols, "protocol", nil, "mqtt3, mqtt5, mq9 (default: all that the SDK and the scenario share)")
	f.StringSliceVar(&o.Transports, "transport", nil, "tcp, tls, ws, wss (default tcp)")
	f.StringVar(&o.Tier, "tier", "", "smoke or hardening, and release if a scenario has it (default smoke)")
	f.Int64Var(&o.Seed, "seed", 0, "of every cell (default: of the clock)")
	f.IntVar(&o.Repeat, "repeat", 1, "runs of each cell")
	f.BoolVar(&o.NoFaults, "no-faults", false, "the scenarios' workloads alone")
	f.BoolVar(&o.Controls, "controls", false, "each scenario without its faults as well, before all others: a failure there needs no fault")
	f.IntVar(&ask.Limits.Jobs, "jobs", 0, "runs at the same time (default: what the processors are idle for)")
	f.IntVar(&ask.Limits.Referees, "referees", matrices.Referees, "how many runs more may be made to decide what deviates")
	f.BoolVar(&ask.Resume, "resume", false, "go on with the newest matrix that did not end")
	f.BoolVar(&ask.Fresh, "fresh", false, "start over, even if the same matrix did not end")
	f.StringVar(&ask.Out, "out", "", "`directory` for matrix.json, matrix.md and matrix.html as well")
	subject.Flags(f, &o.Config)
	return cmd
}

// runMatrix makes the runs of a matrix, prints what they show together and returns it.
func (a *app) runMatrix(ctx context.Context, out io.Writer, ask matrices.Ask) (c campaigns.Comparison, err error) {
	if err := ask.Check(); err != nil {
		return c, err
	}
	r, err := a.runner()
	if err != nil {
		return c, err
	}
	r.Tell = func(line string) { fmt.Fprintln(out, line) }
	store, err := matrices.Open(ctx, r, ask)
	if err != nil {
		return c, err
	}
	unlock, err := store.Lock()
	if err != nil {
		return c, err
	}
	defer unlock()
	if ask.Limits.Jobs, err = matrices.Jobs(ctx, store.Plan, ask.Limits.Jobs); err != nil {
		return c, err
	}
	show := newMatrixDisplay(out)
	show.many = len(store.Plan.Scenarios) > 1
	show.say("%s: %d cells, seed %d, %d at a time, in %s", titleOf(store.Plan), len(store.Plan.Entries), store.Plan.Seed, ask.Limits.Jobs, store.Dir)
	ctx, stop := interrupted(ctx)
	defer stop()
	began := time.Now()
	r.Tell = nil
	c, err = matrices.Run(ctx, r, store, ask, matrices.Show{Building: show.building, Installed: show.installed, Tell: show.tell})
	show.close()
	if err != nil && errors.Is(err, ctx.Err()) {
		fmt.Fprintf(out, "stopped; `rmq-mcp matrix --resume` resumes it\n")
		return c, exit(exitUndecided)
	}
	if err != nil {
		return c, err
	}
	fmt.Fprintln(out)
	printComparison(paintTo(out), out, c)
	fmt.Fprintf(out, "\n%s, report %s\n", time.Since(began).Round(time.Second), filepath.Join(store.Dir, "matrix.md"))
	return c, nil
}

// titleOf names the scenarios of a plan, or says how many there are.
func titleOf(p campaigns.Plan) string {
	var m reports.Matrix
	for _, s := range p.Scenarios {
		m.Scenarios = append(m.Scenarios, s.Name)
	}
	return m.Title()
}
