package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/scenarios"
)

const (
	explorationDrain = 60 * time.Second
	clientLasts      = 60 * time.Second // at least, where the caller does not say: an agent thinks between two calls
)

// RunClient runs a scenario's workload with one SDK on the cluster as it is,
// for as long as asked for, then drains it. It returns at once; the
// status says how far it is.
func (e *Experiment) RunClient(_ context.Context, in keeper.RunClient) (keeper.ClientStatus, error) {
	e.journalled(journal.KindCall, in.Caller, nil)
	if e.scenario != nil {
		return keeper.ClientStatus{}, fmt.Errorf("run_client: %s runs scenario %s, which brings its own clients; start a cluster by cluster_start to explore by hand", e.env.ID, e.scenario.Name)
	}
	if !e.ready.Load() {
		return keeper.ClientStatus{}, fmt.Errorf("run_client: the cluster has not started yet; call cluster_status")
	}
	scenario, err := scenarios.Load(in.Scenario)
	if err != nil {
		return keeper.ClientStatus{}, err
	}
	protocol := cmp.Or(in.Protocol, scenario.Protocol)
	if scenario.Shares() {
		if err := cluster.Shares(e.start.Cluster.Flavor); err != nil {
			return keeper.ClientStatus{}, fmt.Errorf("run_client: %s: %w", scenario.Name, err)
		}
	}
	sdk, err := scenario.SDKFor(in.SDK, protocol, e.start.Cluster.Flavor)
	if err != nil {
		return keeper.ClientStatus{}, err
	}
	transport := cmp.Or(in.Transport, e.start.Transport)
	if err := sdk.Carry(transport); err != nil {
		return keeper.ClientStatus{}, err
	}
	if slices.Contains(e.reach(protocol, transport), "") {
		return keeper.ClientStatus{}, fmt.Errorf("run_client: the nodes do not listen on %s; start a cluster whose config has transports [%q]", transport, transport)
	}
	tier, err := scenario.Tier("smoke", e.start.Cluster.Flavor)
	if err != nil {
		return keeper.ClientStatus{}, err
	}
	select {
	case <-e.halted:
		return keeper.ClientStatus{}, fmt.Errorf("run_client: %s is being stopped; start another cluster by cluster_start", e.env.ID)
	default:
	}
	lasts := seconds(in.DurationS)
	if lasts == 0 {
		lasts = max(clientLasts, seconds(tier.PublishS(scenario.Schedule)))
	}
	s := e.add(&session{name: scenario.Name, sdk: sdk, protocol: protocol, transport: transport, rate: scenario.Rate(e.start.Cluster.Flavor), lasts: lasts,
		claims: scenario.ByHand(e.conditions(sdk, protocol)), expiryS: tier.ExpiryS})
	e.exploring.Go(func() { e.explore(s, scenario, tier) })
	return s.status(e.live.snapshot(e.clock.Now())), nil
}

// explore runs the workload until its time is over or the experiment ends.
func (e *Experiment) explore(s *session, scenario *scenarios.Scenario, tier scenarios.Tier) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-e.halted:
		case <-ctx.Done():
		}
		cancel()
	}()
	if err := e.begin(ctx, s, scenario.Workload); err != nil {
		s.abandon()
		e.fail(s, err)
		return
	}
	e.enter(history.PhaseSteady)
	if !s.steady(ctx, s.lasts, seconds(scenario.Workload.VisitS)) {
		return // the experiment's own end drains it
	}
	e.enter(history.PhaseDrain)
	s.drain(context.WithoutCancel(ctx), seconds(tier.DrainS))
	e.enter(history.PhaseReady)
}

func (e *Experiment) fail(s *session, err error) {
	e.settle(s, "failed", err)
	e.say(fmt.Sprintf("run_client %d: %v", s.number, err))
}

func (e *Experiment) settle(s *session, state string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.state, s.err = state, err
}
