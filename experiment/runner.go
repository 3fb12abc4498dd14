package experiment

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// execute runs the scenario: load, steady, fault, recovery, drain. What a
// broken broker makes impossible is left out and shows in the record; what
// the harness could not do is noted.
func (e *Experiment) execute(ctx context.Context) {
	s := e.add(&session{name: e.scenario.Name, sdk: e.sdk, protocol: e.scenario.Protocol, transport: e.start.Transport, rate: e.rate})
	e.enter(history.PhaseLoad)
	if err := e.begin(ctx, s, e.scenario.Workload); errors.As(err, new(keptOut)) {
		e.say(err.Error())
	} else if err != nil {
		e.harness("%v", err)
	} else if !s.loaded(ctx) {
		e.say(fmt.Sprintf("load gate: fewer than %.0f acknowledged publishes a second within %s", s.rate, loadBound))
	} else {
		e.enter(history.PhaseSteady)
		s.steady(ctx, seconds(e.tier.SteadyS), seconds(e.scenario.Workload.VisitS))
		e.disturb(ctx)
		if ctx.Err() != nil { // stopped: what is in place must not outlast that, nor hold up the drain
			e.heal(context.WithoutCancel(ctx))
		}
		if !e.gone.Load() && (ctx.Err() == nil || len(e.engine.Landings()) > 0) {
			e.recover(ctx, s)
		}
	}
	e.enter(history.PhaseDrain)
	s.drain(context.WithoutCancel(ctx), seconds(e.tier.DrainS))
}

// disturb runs the schedule through, as many times as the tier asks.
func (e *Experiment) disturb(ctx context.Context) {
	if len(e.scenario.Schedule) == 0 {
		return
	}
	for range e.tier.Rounds {
		e.enter(history.PhaseFault)
		var steps sync.WaitGroup
		for _, step := range e.scenario.Schedule {
			steps.Go(func() { // one that fails takes none of the others out
				if err := e.step(ctx, step); err != nil && ctx.Err() == nil {
					e.say(err.Error())
				}
			})
		}
		steps.Wait()
		if ctx.Err() != nil {
			return
		}
	}
}

// step injects one fault at its time and waits until it is healed.
func (e *Experiment) step(ctx context.Context, step scenarios.Step) error {
	if !hold(ctx, seconds(step.AtS)) {
		return nil
	}
	params := e.tier.Params(step)
	caller := keeper.Caller{Via: "scenario", Tool: "inject_fault", Args: map[string]any{"type": step.Fault, "target": step.Target, "params": params}}
	st, err := e.Inject(ctx, keeper.Inject{Type: step.Fault, Target: step.Target, Params: params, Caller: caller})
	if err != nil {
		return fmt.Errorf("inject %s on %s: %w", step.Fault, step.Target, err)
	}
	_, err = e.engine.Wait(ctx, st.ID)
	return err
}

// recover publishes and receives through every node, until each has served or
// the bound has passed, and goes on with the workload for a while. No node is
// waited for before the others are asked: one that stays away says nothing of
// them. A run that was stopped recovers too: what a cluster delivers late is
// not lost.
func (e *Experiment) recover(ctx context.Context, s *session) {
	e.enter(history.PhaseRecovery)
	onwards := context.WithoutCancel(ctx)
	if err := e.probes(onwards, s, max(seconds(e.tier.RecoveryS), 10*time.Second)); err != nil {
		e.harness("probe the nodes after the heal: %v", err)
	}
	for _, n := range e.cluster.Nodes() {
		if _, err := n.Probe(onwards); err != nil {
			e.say(fmt.Sprintf("recovery: %s does not answer: %v", n.Name(), err))
		}
	}
	hold(ctx, seconds(e.tier.AfterS))
}

// enter begins a phase, in the history, the journal and before people's eyes.
func (e *Experiment) enter(phase string) {
	e.mu.Lock()
	e.phase = phase
	e.mu.Unlock()
	if phase != history.PhaseDone && phase != history.PhaseJudge {
		e.rec.Record(harnessEvent(e.clock.Now(), history.KindPhase, phase))
	}
	e.say(phase)
}

func harnessEvent(at time.Duration, kind history.Kind, text string) history.Event {
	return history.Event{
		Time: at, Kind: kind, Edge: history.Point, Via: history.ViaHarness, Text: text,
		Call: history.None, Process: history.None, Conn: history.None, Node: history.None,
		Stream: history.None, Seq: history.None, ID: history.None,
	}
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
