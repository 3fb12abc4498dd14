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
	e.load = &load{spec: s, record: e.record, system: e.stage, live: newLive(), halted: e.halted, landings: e.landings}
	return e, e.record.open(s, e.load.live.event, e.complete)
}

// Run is the whole experiment, from start to sealed. It ends early, but in
// order, when ctx ends or Stop is called.
func (e *Experiment) Run(ctx context.Context) error {
	p := &parts{Experiment: e}
	return e.run(ctx, p, p)
}

// run is the run in a place, to its sealed verdict.
func (e *Experiment) run(ctx context.Context, in place, p *parts) error {
	defer close(e.over)
	e.journalled(journal.KindStart, e.start.Caller, nil)
	e.announce()
	run := phases{
		notes: e.record, place: in, load: p, nemesis: p.disturber, room: p,
		after: seconds(e.tier.AfterS), halt: e.halt, halted: e.halted, failed: e.rec.Failed(), why: e.rec.Err,
	}
	if e.scenario != nil {
		run.name = e.scenario.Name
	}
	run.run(ctx)
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
