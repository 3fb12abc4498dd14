package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// plan asks the fault what it would do, and puts that on disk before anything
// of it is done.
func (e *Engine) plan(ctx context.Context, f Fault, p *placement) error {
	p.target.Control = e.list.untouched(p.target.Control, p)
	plan, err := f.Plan(ctx, p.target)
	if err != nil {
		return fmt.Errorf("plan %s: %w", p.what(), err)
	}
	for i := range plan.Entries {
		plan.Entries[i].Fault = p.id()
	}
	p.plan = plan
	p.change(func(l *history.Landing) {
		l.Mechanism = plan.Mechanism
		l.Proofs = records(plan.Proofs)
	})
	err = e.append(KindPlan, Planned{
		Fault: p.id(), Type: p.landing.Type, Nodes: p.landing.Nodes,
		DurationNS: int64(p.duration), Entries: plan.Entries,
	})
	if err != nil {
		return fmt.Errorf("%s was not injected: its undo is not on disk: %w", p.what(), err)
	}
	return nil
}

// apply puts the entries in place, then does what happens once.
func (e *Engine) apply(ctx context.Context, p *placement) error {
	ctx, cancel := context.WithTimeout(ctx, e.opt.Recovery)
	defer cancel()
	p.setIn(true)
	call := e.call(history.KindInject, p)
	err := e.layers.add(ctx, p.plan.Entries)
	if err == nil && p.plan.Step != nil {
		err = p.plan.Step(ctx)
	}
	if err == nil {
		err = e.append(KindApplied, Applied{Fault: p.id()})
	}
	p.change(func(l *history.Landing) { l.Times.AppliedNS = int64(e.opt.Clock.Now()) })
	outcome := history.OK
	if err != nil {
		outcome = history.Info
		err = fmt.Errorf("inject %s: %w", p.what(), err)
	}
	e.returned(history.KindInject, p, call, outcome)
	return err
}

// settle samples until the proofs hold, for a bounded time: it looks at
// levels, so it does not matter when they were reached. Whoever asks to heal
// does not wait for a sample to end.
func (e *Engine) settle(ctx context.Context, p *placement) {
	ctx, cancel := p.untilAsked(ctx)
	defer cancel()
	bound := time.NewTimer(min(e.opt.Settle, p.duration))
	defer bound.Stop()
	for again := false; ; again = true {
		start := e.opt.Clock.Now()
		e.sample(ctx, p, history.During, again)
		p.setSampling(e.opt.Clock.Now() - start)
		if e.decide(p) == history.Landed {
			return
		}
		select {
		case <-bound.C:
			return
		case <-ctx.Done():
			return
		case <-time.After(e.opt.Poll):
		}
	}
}

// hold waits until the fault's time is over, or until somebody asks to heal
// it, samples it once more and heals it. The last sample counts towards the
// fault's duration.
func (e *Engine) hold(ctx context.Context, p *placement) {
	bound := time.NewTimer(p.remaining(e.opt.Clock.Now()))
	defer bound.Stop()
	patience := sampleBound
	select {
	case <-bound.C:
	case <-p.asked:
		patience = hurriedBound
	}
	e.sampleWithin(ctx, patience, p, history.During, false)
	e.heal(ctx, p)
}

// takeOut undoes what was applied half-way. Nothing can be said of such a
// fault: it may have had an effect.
func (e *Engine) takeOut(ctx context.Context, p *placement, err error) (history.Landing, error) {
	p.wrong(err)
	p.heal()
	e.heal(context.WithoutCancel(ctx), p)
	return p.snapshot(), err
}

// abandon ends a fault of which nothing was done, and which so has nothing to
// heal.
func (e *Engine) abandon(p *placement, err error) (history.Landing, error) {
	p.wrong(err)
	p.change(func(l *history.Landing) { l.Healed = history.HealVerified })
	if len(p.plan.Entries) > 0 {
		// Its plan may be on disk. If this line cannot be written, recovery
		// undoes nothing, which is harmless.
		_ = e.append(KindHealed, Healed{Fault: p.id(), Did: "was never applied"})
	}
	p.finish()
	e.decide(p)
	return p.snapshot(), err
}
