// Package experiment is one run: a cluster, the clients and faults that a scenario or
// a caller asks for, and the record of what happened.
package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/reports"
)

// An Experiment is one run, and the run directory in which it is written down. Its
// keeper serves it. Its spec says what to do, and four values do it: the stage is the
// cluster with all around it, the load its clients, the nemesis the faults, and the
// record everything that is written down.
type Experiment struct {
	*spec
	*record
	stage   *stage
	load    *load
	nemesis atomic.Pointer[nemesis] // nil until the cluster has started and the run is frozen
	decide  Decide

	// Place notes the plans that the run belongs to, before it is judged; nil for none.
	Place func() error

	halt    func() // ends the work; healing, draining and judging go on
	halted  chan struct{}
	over    chan struct{}                   // closed when Run returns
	summary atomic.Pointer[reports.Summary] // nil until the run is judged
}

// Decide says whether an injection had effect, from its samples; see [faults.Options]. It is
// of the half that judges, which this one does not know.
type Decide func(history.Landing) (history.LandingState, []string, []history.ProofRecord)

// New prepares an experiment in its run directory. It starts nothing. An
// error is bad input and says what is valid.
func New(version string, env keeper.Env, start keeper.Start, decide Decide) (*Experiment, error) {
	s, err := newSpec(version, start)
	if err != nil {
		return nil, err
	}
	e := &Experiment{spec: s, record: &record{env: env}, decide: decide, halted: make(chan struct{}), over: make(chan struct{})}
	e.halt = sync.OnceFunc(func() { close(e.halted) })
	e.stage = &stage{spec: s, record: e.record, halt: e.halt}
	e.load = &load{spec: s, record: e.record, stage: e.stage, live: newLive(), halted: e.halted, landings: e.landings}
	return e, e.record.open(s, e.load.live.event, e.complete)
}

// Run is the whole experiment, from start to sealed. It ends early, but in
// order, when ctx ends or Stop is called.
func (e *Experiment) Run(ctx context.Context) error {
	defer close(e.over)
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-e.rec.Failed(): // a full disk: what goes on is not recorded
			e.harness("record what happens: %v", e.rec.Err())
		case <-e.halted:
		case <-work.Done():
		}
		cancel()
	}()
	watched, unwatch := context.WithCancel(context.WithoutCancel(ctx))
	defer unwatch()
	e.journalled(journal.KindStart, e.start.Caller, nil)
	e.announce()
	if err := e.up(work); err != nil {
		e.harness("start cluster: %v", err)
	} else {
		go e.stage.observe(work)
		go e.watchHost(watched)
		go e.stage.listMailboxes(work)
		if e.scenario != nil {
			e.execute(work, e.nemesis.Load())
		} else {
			e.enter(history.PhaseReady)
			<-work.Done()
		}
	}
	ctx = context.WithoutCancel(ctx)
	e.end(ctx, unwatch)
	return e.judge()
}

// announce says where the run differs from the scenario: a lower rate, no faults, or fewer.
func (e *Experiment) announce() {
	if e.lowered != "" {
		e.say(fmt.Sprintf("%s publishes %s", e.scenario.Name, e.lowered))
	}
	if len(e.led) > 0 {
		e.say(fmt.Sprintf("external brokers do not say who leads: %s acts on any node", strings.Join(e.led, ", ")))
	}
	switch {
	case e.notice == "":
	case len(e.leftOut) > 0:
		e.say(fmt.Sprintf("%s runs without its %s: %s", e.scenario.Name, strings.Join(e.leftOut, ", "), e.notice))
	default:
		e.say(fmt.Sprintf("%s runs without its faults, as a control: %s", e.scenario.Name, e.notice))
	}
}

// up starts the cluster and all around it, freezes the run, and is ready for faults. A
// run whose cluster does not come up is frozen as well, since it is judged too.
func (e *Experiment) up(ctx context.Context) error {
	err := e.stage.up(ctx)
	if err = errors.Join(err, e.stage.freeze()); err == nil {
		e.nemesis.Store(newNemesis(e.load, e.decide))
	}
	return err
}

// execute runs the scenario: load, steady, fault (once a round, by the nemesis),
// recovery, drain. After a load that did not come up only the drain follows: the
// phases in the record show it. Failures of the harness are noted.
func (e *Experiment) execute(ctx context.Context, n *nemesis) {
	s := e.load.add(&session{name: e.scenario.Name, sdk: e.sdk, protocol: e.scenario.Protocol, transport: e.start.Transport, rate: e.rate})
	e.enter(history.PhaseLoad)
	if err := e.load.begin(ctx, s, e.scenario.Workload); err != nil && ctx.Err() != nil {
		e.say(fmt.Sprintf("stopped before %s had come up", s.name)) // the time was not over in which it could
	} else if errors.As(err, new(keptOut)) {
		e.say(err.Error())
	} else if err != nil {
		e.harness("%v", err)
	} else if !s.loaded(ctx) {
		e.say(fmt.Sprintf("load gate: fewer than %.0f of the %.0f publishes a second were acknowledged within %s", gateOpens*s.rate, s.rate, loadBound))
	} else {
		e.enter(history.PhaseSteady)
		s.steady(ctx, seconds(e.tier.SteadyS), seconds(e.scenario.Workload.VisitS))
		n.disturb(ctx)
		if ctx.Err() != nil { // stopped: what is in place must not outlast that, nor hold up the drain
			n.healAll(context.WithoutCancel(ctx))
		}
		if !e.stage.gone.Load() && (ctx.Err() == nil || len(n.engine.Landings()) > 0) {
			e.recover(ctx, s)
		}
	}
	e.enter(history.PhaseDrain)
	s.drain(context.WithoutCancel(ctx), seconds(e.tier.DrainS))
}

// recover publishes and receives through every node, until each has served or
// the bound has passed, and goes on with the workload for a while. No node is
// waited for before the others are asked: one that stays away says nothing of
// them. A run that was stopped after a fault recovers too: what a cluster
// delivers late is not lost.
func (e *Experiment) recover(ctx context.Context, s *session) {
	e.enter(history.PhaseRecovery)
	onwards := context.WithoutCancel(ctx)
	if err := e.load.probes(onwards, s, max(seconds(e.tier.RecoveryS), 10*time.Second)+slack); err != nil {
		e.harness("probe the nodes after the heal: %v", err)
	}
	for _, n := range e.stage.cluster.Nodes() {
		if _, err := n.Probe(onwards); err != nil {
			e.say(fmt.Sprintf("recovery: %s does not answer: %v", n.Name(), err))
		}
	}
	hold(ctx, seconds(e.tier.AfterS))
}

// end heals, drains workloads that run by hand, removes the run's traces at brokers of
// others, takes the cluster down, and undoes faults that did not heal. The room reserved
// for the end of the run serves for this even if the disk is full by now. Only a little
// of it is given back for healing, because a broker that still writes may take it.
// The host is watched until all is drained, in a run that was stopped too.
func (e *Experiment) end(ctx context.Context, unwatch func()) {
	if err := reports.ReleaseSome(e.env.Dir); err != nil {
		e.harness("%v", err)
	}
	n := e.nemesis.Load()
	if n != nil {
		n.healAll(ctx)
	}
	e.halt() // observers end, and whoever explores by hand stops, or drains to its end
	e.load.close()
	for _, s := range e.load.running() {
		s.drain(ctx, explorationDrain)
	}
	unwatch()
	if n != nil { // the cluster came up
		e.stage.forget(ctx)
	}
	e.stage.down(ctx)
	if err := reports.Release(e.env.Dir); err != nil {
		e.harness("%v", err)
	}
	if n != nil {
		if err := n.engine.Retire(ctx); err != nil {
			e.harness("undo what was not healed: %v", err)
		}
	}
}

// judge closes what was recorded and hands it over, to be sealed and judged. A run
// whose files cannot be written stays unsealed, until [reports.Recover] ends it.
func (e *Experiment) judge() error {
	e.enter(history.PhaseJudge)
	if err := e.rec.Close(); err != nil { // it has no end, and is judged so
		e.harness("end the history: %v", err)
	}
	e.journalled(journal.KindEnd, keeper.Caller{Via: "keeper"}, map[string]any{"harness": e.noted()})
	err := errors.Join(e.record.writeLandings(e.landings), reports.WriteHarness(e.evidence(), e.noted()), e.journal.Close())
	if err != nil {
		return err
	}
	key, err := reports.LoadKey(e.env.StateDir)
	if err != nil {
		return err
	}
	if e.Place != nil {
		if err := e.Place(); err != nil { // it is of no weight for the verdict
			e.say(fmt.Sprintf("note the plans of this run: %v", err))
		}
	}
	summary, err := reports.Finish(e.env.Dir, key, e.start.Cluster.Password.Reveal()) // which is in no file that is sealed
	if err != nil {
		return fmt.Errorf("judge and seal %s: %w", e.env.ID, err)
	}
	e.summary.Store(summary)
	e.enter(history.PhaseDone)
	return nil
}

// landings are those of all faults so far.
func (e *Experiment) landings() []history.Landing {
	if n := e.nemesis.Load(); n != nil {
		return n.engine.Landings()
	}
	return nil
}

// hold goes on for a time of the workload, and reports whether it was not
// stopped before.
func hold(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
