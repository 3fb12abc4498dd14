package experiment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/reports"
)

// parts are the stage, the load and the nemesis of an experiment, as the phases know them.
type parts struct {
	*Experiment
	session *session // of the scenario
}

// up starts the cluster and all around it, freezes the run, and is ready for faults. A
// run whose cluster does not come up is frozen as well, since it is judged too.
func (p *parts) up(ctx context.Context) error {
	err := p.stage.up(ctx)
	if err = errors.Join(err, p.stage.freeze()); err == nil {
		p.nemesis.Store(newNemesis(p.spec, p.record, p.stage, p.load, p.decide))
	}
	return err
}

func (p *parts) observe(work, watched context.Context) {
	go p.stage.observe(work)
	go p.watchHost(watched)
	go p.stage.listMailboxes(work)
}

func (p *parts) answers(ctx context.Context) {
	for _, n := range p.stage.cluster.Nodes() {
		if _, err := n.Probe(ctx); err != nil {
			p.say(fmt.Sprintf("recovery: %s does not answer: %v", n.Name(), err))
		}
	}
}

func (p *parts) lost() bool                 { return p.stage.lost() }
func (p *parts) forget(ctx context.Context) { p.stage.forget(ctx) }
func (p *parts) down(ctx context.Context)   { p.stage.down(ctx) }
func (p *parts) some() error                { return reports.ReleaseSome(p.env.Dir) }
func (p *parts) all() error                 { return reports.Release(p.env.Dir) }

func (p *parts) begin(ctx context.Context) error {
	p.session = p.load.add(&session{
		name: p.scenario.Name, sdk: p.sdk, protocol: p.scenario.Protocol, transport: p.start.Transport, rate: p.rate,
	})
	return p.load.begin(ctx, p.session, p.scenario.Workload)
}

func (p *parts) loaded(ctx context.Context) bool {
	open := p.session.loaded(ctx)
	if !open {
		p.say(fmt.Sprintf("load gate: fewer than %.0f of the %.0f publishes a second were acknowledged within %s", gateOpens*p.rate, p.rate, loadBound))
	}
	return open
}

func (p *parts) steady(ctx context.Context) {
	p.session.steady(ctx, seconds(p.tier.SteadyS), seconds(p.scenario.Workload.VisitS))
}

func (p *parts) probes(ctx context.Context) error {
	return p.load.probes(ctx, p.session, max(seconds(p.tier.RecoveryS), 10*time.Second)+slack)
}

func (p *parts) drain(ctx context.Context) { p.session.drain(ctx, seconds(p.tier.DrainS)) }

func (p *parts) close(ctx context.Context) {
	p.load.close()
	for _, s := range p.load.running() {
		s.drain(ctx, explorationDrain)
	}
}

// disturber is nil, and no interface with nil in it, until the cluster is up.
func (p *parts) disturber() disturber {
	if n := p.nemesis.Load(); n != nil {
		return n
	}
	return nil
}
