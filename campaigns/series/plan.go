package series

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A PlanAsk is how the attempts that a plan lacks are made.
type PlanAsk struct {
	Most    int            // attempts; 0 for all
	Foreign cluster.Config // how clients reach external brokers
}

// Check returns an error for an ask that cannot be carried out.
func (a PlanAsk) Check() error {
	f := a.Foreign
	switch {
	case a.Most < 0:
		return fmt.Errorf("plan run: --most is %d, expected 1 or more", a.Most)
	case (f.Username+f.CA != "" || f.QueueLimit != 0) && len(f.Endpoints) == 0:
		return errors.New("plan run: --username, --ca and --queue-limit are for external brokers; give --endpoint HOST:PORT for each of their nodes")
	}
	return nil
}

// Make makes the attempts that a plan in a state directory lacks, until its budget is used, a
// person stops one, or ctx ends. An attempt that fails to run holds up no other, unless leave
// returns true for its error.
func (a PlanAsk) Make(ctx context.Context, r *plan.Record, dir string, one Runner, say Say, leave func(error) bool) error {
	unlock, err := r.Lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	s, err := r.Look(dir)
	if err != nil {
		return err
	}
	missing, err := a.missing(ctx, r, s, say)
	if err != nil {
		return err
	}
	used := r.Used(s)
	for i, m := range missing {
		if why := used.Over(r.Plan.Budget, m); why != "" {
			say("the plan's budget is used: %s; a plan of another name may have more", why)
			break
		}
		say("%s, %d of %d", m, i+1, len(missing))
		began := time.Now()
		stopped, err := a.attempt(ctx, dir, r, m, one)
		if err != nil && leave(err) {
			return err
		}
		if err != nil {
			say("  %v", err) // its run says what became of it
		}
		used.Add(time.Since(began))
		say("")
		if stopped || ctx.Err() != nil {
			break
		}
	}
	return nil
}

// missing are the attempts to make, whose external brokers can be reached.
func (a PlanAsk) missing(ctx context.Context, r *plan.Record, s plan.Status, say Say) ([]plan.Missing, error) {
	if len(a.Foreign.Endpoints) > 0 && !slices.ContainsFunc(r.Items, func(it plan.Item) bool { return it.Model.Cluster().Foreign() }) {
		return nil, fmt.Errorf("plan run: no scenario of %s is on an external broker; leave --endpoint out", r.Plan.Name)
	}
	missing := slices.DeleteFunc(r.Missing(s), func(m plan.Missing) bool {
		nodes := m.Item.Model.Nodes
		elsewhere := m.Item.Model.Cluster().Foreign() && nodes != len(a.Foreign.Endpoints)
		if elsewhere {
			say("%s is left out: its broker is external; give --endpoint HOST:PORT for each of its nodes (%d)", m, nodes)
		}
		return elsewhere
	})
	if a.Most > 0 && a.Most < len(missing) {
		missing = missing[:a.Most]
	}
	reached := map[[2]string]bool{} // by scenario and transport; the endpoints are the same for all
	for _, m := range missing {
		start := a.start(m)
		by := [2]string{start.Scenario, start.Transport}
		if !start.Cluster.Foreign() || reached[by] {
			continue
		}
		if err := attempt.Reach(ctx, start, ""); err != nil {
			return nil, err
		}
		reached[by] = true
	}
	return missing, nil
}

func (a PlanAsk) attempt(ctx context.Context, dir string, r *plan.Record, m plan.Missing, one Runner) (stopped bool, err error) {
	start := a.start(m)
	if start.Scenario, err = r.Scenario(dir, m.Item); err != nil {
		return false, err
	}
	start.Caller = caller(start.Scenario)
	start.Scenario = scenarios.Absolute(start.Scenario)
	_, stopped, err = one(ctx, start, false)
	return stopped, err
}

// start is an attempt's; clients reach an external broker as the ask says.
func (a PlanAsk) start(m plan.Missing) keeper.Start {
	model := m.Item.Model
	config := model.Cluster()
	if f := a.Foreign; config.Foreign() {
		config.Endpoints, config.Username, config.CA, config.QueueLimit = f.Endpoints, f.Username, f.CA, f.QueueLimit
	}
	return keeper.Start{
		Scenario: m.Item.Scenario, Cluster: config, SDK: model.SDK, Protocol: model.Protocol, Transport: model.Transport,
		Seed: m.Seed, Tier: model.Tier,
	}
}
