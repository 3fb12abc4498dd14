package experiment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
)

const (
	explorationDrain = 60 * time.Second
	clientLasts      = 60 * time.Second // at least, where the caller does not say: an agent thinks between two calls
)

// runClient begins a workload by hand, after checking what was asked for.
func (l *load) runClient(in keeper.RunClient) (keeper.ClientStatus, error) {
	scenario, err := scenarios.Load(in.Scenario)
	if err != nil {
		return keeper.ClientStatus{}, err
	}
	protocol := cmp.Or(in.Protocol, scenario.Protocol)
	if err := scenario.RunsOn(l.start.Cluster.Flavor, protocol); err != nil {
		return keeper.ClientStatus{}, fmt.Errorf("run_client: %s: %w", scenario.Name, err)
	}
	sdk, err := scenario.SDKFor(in.SDK, protocol, l.start.Cluster.Flavor)
	if err != nil {
		return keeper.ClientStatus{}, err
	}
	transport := cmp.Or(in.Transport, l.start.Transport)
	if err := sdk.Carry(transport); err != nil {
		return keeper.ClientStatus{}, err
	}
	if slices.Contains(l.system.reach(protocol, transport), "") {
		return keeper.ClientStatus{}, l.unheard(protocol, transport)
	}
	tier, err := scenario.Tier("smoke", l.start.Cluster.Flavor)
	if err != nil {
		return keeper.ClientStatus{}, err
	}
	lasts := seconds(in.DurationS)
	if lasts == 0 {
		lasts = max(clientLasts, seconds(tier.PublishS(scenario.Schedule)))
	}
	s := l.add(&session{name: scenario.Name, sdk: sdk, protocol: protocol, transport: transport, rate: scenario.Rate(l.start.Cluster.Flavor), lasts: lasts,
		claims: scenario.ByHand(l.system.conditions(sdk, protocol)), expiryS: tier.ExpiryS})
	st := s.status(l.live.snapshot(l.clock.Now())) // before the workload changes it
	if err := l.byHand(func() { l.explore(s, scenario, tier) }); err != nil {
		l.settle(s, stateFailed, err)
		return keeper.ClientStatus{}, err
	}
	return st, nil
}

// unheard says that no client of a protocol reaches the nodes over a transport.
func (l *load) unheard(protocol, transport string) error {
	if c := l.start.Cluster; c.Foreign() && (protocol == contract.MQ9) != (c.Protocol == contract.MQ9) {
		return fmt.Errorf("run_client: the endpoints of this cluster are no listeners of %s; start another one with endpoints that are, and with protocol %q in its config where they speak mq9", protocol, contract.MQ9)
	}
	return fmt.Errorf("run_client: the nodes do not listen on %s; start a cluster whose config has transports [%q]", transport, transport)
}

// explore runs the workload until its time is over or the experiment ends.
func (l *load) explore(s *session, scenario *scenarios.Scenario, tier scenarios.Tier) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-l.halted:
		case <-ctx.Done():
		}
		cancel()
	}()
	if err := l.begin(ctx, s, scenario.Workload); err != nil {
		s.abandon()
		l.fail(s, err)
		return
	}
	l.enter(history.PhaseSteady)
	if !s.steady(ctx, s.lasts, seconds(scenario.Workload.VisitS)) {
		return // the experiment's own end drains it
	}
	l.enter(history.PhaseDrain)
	s.drain(context.WithoutCancel(ctx), seconds(tier.DrainS))
	l.enter(history.PhaseReady)
}

func (l *load) fail(s *session, err error) {
	l.settle(s, stateFailed, err)
	l.say(fmt.Sprintf("run_client %d: %v", s.number, err))
}

// isRunning reports whether the drain of a session has not begun.
func (l *load) isRunning(s *session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.state == stateRunning
}

func (l *load) settle(s *session, state string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.state, s.err = state, err
}
