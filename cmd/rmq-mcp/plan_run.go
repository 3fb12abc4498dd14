package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

func (a *app) planRun() *cobra.Command {
	most := 0
	var theirs cluster.Config
	cmd := &cobra.Command{
		Use:   "run [PLAN]",
		Short: "Run what is NOT-RUN of a frozen plan, one attempt after the other",
		Long: "Makes the attempts that are missing, each as an ordinary run, with the scenario as it was frozen, until all are made or the\n" +
			"plan's budget is used. Ctrl-C stops in order; the same command resumes.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runPlan(cmd.Context(), cmd.OutOrStdout(), args, most, theirs)
		},
	}
	cmd.Flags().IntVar(&most, "most", 0, "so many attempts now and no more (default: all)")
	foreignFlags(cmd.Flags(), &theirs)
	return cmd
}

func (a *app) runPlan(ctx context.Context, out io.Writer, args []string, most int, theirs cluster.Config) error {
	if most < 0 {
		return fmt.Errorf("plan run: --most is %d, expected 1 or more", most)
	}
	if (theirs.Username+theirs.CA != "" || theirs.QueueLimit != 0) && len(theirs.Endpoints) == 0 {
		return errors.New("plan run: --username, --ca and --queue-limit are for external brokers; give --endpoint HOST:PORT for each of their nodes")
	}
	dir, err := a.state()
	if err != nil {
		return err
	}
	r, err := findPlan(dir, planRef(args))
	if err != nil {
		return err
	}
	unlock, err := r.Lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := r.Look(dir)
	if err != nil {
		return err
	}
	if len(theirs.Endpoints) > 0 && !slices.ContainsFunc(r.Items, func(it plan.Item) bool { return it.Model.Cluster().Foreign() }) {
		return fmt.Errorf("plan run: no scenario of %s is on an external broker; leave --endpoint out", r.Plan.Name)
	}
	missing := slices.DeleteFunc(r.Missing(s), func(m plan.Missing) bool {
		nodes := m.Item.Model.Nodes
		elsewhere := m.Item.Model.Cluster().Foreign() && nodes != len(theirs.Endpoints)
		if elsewhere {
			fmt.Fprintf(out, "%s is left out: its broker is external; give --endpoint HOST:PORT for each of its nodes (%d)\n", m, nodes)
		}
		return elsewhere
	})
	if most > 0 && most < len(missing) {
		missing = missing[:most]
	}
	reached := map[[2]string]bool{} // by scenario and transport; the endpoints are the same for all
	for _, m := range missing {
		config, transport := clusterOf(m, theirs), m.Item.Model.Transport
		by := [2]string{m.Item.Scenario, transport}
		if !config.Foreign() || reached[by] {
			continue
		}
		if err := attempt.Reach(ctx, keeper.Start{Scenario: m.Item.Scenario, Cluster: config, Transport: transport}, ""); err != nil {
			return err
		}
		reached[by] = true
	}
	used := r.Used(s)
	for i, m := range missing {
		if why := used.Over(r.Plan.Budget, m); why != "" {
			fmt.Fprintf(out, "the plan's budget is used: %s; a plan of another name may have more\n", why)
			break
		}
		fmt.Fprintf(out, "%s, %d of %d\n", m, i+1, len(missing))
		began := time.Now()
		stopped, err := a.runAttempt(ctx, out, dir, r, m, theirs)
		if err != nil {
			var code exit
			if errors.As(err, &code) {
				return err
			}
			fmt.Fprintf(out, "  %v\n", err) // what became of it is read from its run; the others are not held up
		}
		used.Add(time.Since(began))
		fmt.Fprintln(out)
		if stopped || ctx.Err() != nil {
			break
		}
	}
	if s, err = r.Look(dir); err != nil {
		return err
	}
	printPlan(paintTo(out), out, s)
	return exitOf(s)
}

// runAttempt makes one attempt, and says whether a person stopped it.
func (a *app) runAttempt(ctx context.Context, out io.Writer, dir string, r *plan.Record, m plan.Missing, theirs cluster.Config) (stopped bool, err error) {
	scenario, err := r.Scenario(dir, m.Item)
	if err != nil {
		return false, err
	}
	_, stopped, err = a.attempt(ctx, out, dir, scenario, running{
		cluster: clusterOf(m, theirs), sdk: m.Item.Model.SDK, protocol: m.Item.Model.Protocol, transport: m.Item.Model.Transport,
		seed: m.Seed, tier: m.Item.Model.Tier,
	})
	return stopped, err
}

// clusterOf is the cluster of an attempt; that of somebody else is reached as theirs says.
func clusterOf(m plan.Missing, theirs cluster.Config) cluster.Config {
	config := m.Item.Model.Cluster()
	if config.Foreign() {
		config.Endpoints, config.Username, config.CA, config.QueueLimit = theirs.Endpoints, theirs.Username, theirs.CA, theirs.QueueLimit
	}
	return config
}
