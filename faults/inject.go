package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// plan asks the fault what it would do, and puts that on disk before anything
// of it is done.
func (e *Engine) plan(ctx context.Context, f Fault, p *placement) error {
	p.target.Control = e.list.untouched(p.target.Control, p)
	plan, err := f.Plan(ctx, p.target)
	if err != nil {
		return fmt.Errorf("plan %s: %w", p.what(), err)
	}
	for _, list := range [][]Entry{plan.Traps, plan.Entries} {
		for i := range list {
			list[i].Fault = p.id()
		}
	}
	if err := e.list.inPlace(p, plan.Entries); err != nil {
		return err
	}
	p.setPlan(plan)
	p.change(func(l *history.Landing) {
		l.Mechanism, l.Ends, l.Rolling, l.Forges = plan.Mechanism, ends(plan.Entries), plan.Rolling, plan.Forges
		l.Proofs = append(records(plan.Proofs), checkRecords(p.checks)...)
	})
	err = e.append(KindPlan, Planned{
		Fault: p.id(), Type: p.landing.Type, Nodes: p.landing.Nodes,
		DurationNS: int64(p.duration), Entries: p.journalled(),
	})
	if err != nil {
		return fmt.Errorf("%s was not injected: its undo is not on disk: %w", p.what(), err)
	}
	return nil
}

// ends reports whether a process may end by these: one is made to, or cannot have
// what it needs to run.
func ends(entries []Entry) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool {
		kind, _, _ := strings.Cut(e.Layer, "/")
		return kind == "process" && e.Want != Frozen || slices.Contains([]string{"disk", "limits", "files"}, kind)
	})
}

// A trapStays error means: the moment of a fault did not come, and its trap is still in
// place. The heal has failed.
type trapStays struct{ error }

// await waits for the moment to apply a fault. Its error is why that did not
// come: the fault's own trigger did not, or a node it acts on died by itself.
func (e *Engine) await(ctx context.Context, p *placement) error {
	if err := e.dead(ctx, p); err != nil || p.plan.Until == nil {
		return err
	}
	err := e.layers.add(ctx, p.plan.Traps, false)
	if err == nil {
		waiting, cancel := p.untilAsked(ctx)
		defer cancel()
		err = p.plan.Until(waiting)
	}
	if err != nil {
		return e.spring(ctx, p, err)
	}
	p.change(func(l *history.Landing) { l.Times.TriggerNS = int64(e.opt.Clock.Now()) })
	return nil
}

// spring takes out the trap of a fault whose moment did not come, and returns why it did
// not.
func (e *Engine) spring(ctx context.Context, p *placement, why error) error {
	if stays := e.layers.remove(context.WithoutCancel(ctx), p.id(), p.plan.Traps, false); stays != nil {
		return trapStays{fmt.Errorf("%w; and its trap was not taken out: %v", why, stays)}
	}
	return why
}

// dead says which process that a fault acts on is gone without any fault's
// doing. To heal the fault would start it again, and hide that.
func (e *Engine) dead(ctx context.Context, p *placement) error {
	for _, n := range p.target.Nodes {
		layer := processLayerOf(n)
		acts := slices.ContainsFunc(p.plan.Entries, func(e Entry) bool { return e.Layer == layer })
		state, err := n.State(ctx)
		if acts && err == nil && hasEnded(state) && !e.layers.holds(layer) {
			return fmt.Errorf("%s is not running (%s), and no fault has ended it; its log says why", n.Name(), state)
		}
	}
	return nil
}

// miss ends a fault whose moment did not come. It is sampled as if it were in
// place, so that its proofs show that nothing happened.
func (e *Engine) miss(ctx context.Context, p *placement, err error) history.Landing {
	e.sample(ctx, p, history.During, false)
	l, _ := e.abandon(p, fmt.Errorf("nothing was done: %w", err))
	return l
}

// apply puts the entries in place, then does what happens once.
func (e *Engine) apply(ctx context.Context, p *placement) error {
	ctx, cancel := context.WithTimeout(ctx, e.patience(p))
	defer cancel()
	p.setIn(true)
	call := e.call(history.KindInject, p)
	p.change(func(l *history.Landing) { l.Times.ApplyNS = int64(e.opt.Clock.Now()) })
	err := e.begin(ctx, p)
	if err == nil {
		err = e.append(KindApplied, Applied{Fault: p.id()})
	}
	p.change(func(l *history.Landing) {
		l.Times.AppliedNS = int64(e.opt.Clock.Now())
		if p.plan.Detail != nil {
			l.Detail = p.plan.Detail()
		}
	})
	outcome := history.OK
	if err != nil {
		outcome = history.Info
		err = fmt.Errorf("inject %s: %w", p.what(), err)
	}
	e.returned(history.KindInject, p, call, outcome)
	return err
}

// begin is what apply does, in its order.
func (e *Engine) begin(ctx context.Context, p *placement) error {
	if p.plan.First != nil {
		if err := p.plan.First(ctx); err != nil {
			return err
		}
	}
	err := e.layers.add(ctx, p.plan.Entries, p.plan.Rolling)
	var late notBackError
	if errors.As(err, &late) { // what it did stands
		p.problem(err.Error())
		err = nil
	}
	if err == nil && p.plan.Step != nil {
		err = p.plan.Step(ctx)
	}
	return err
}

// settle samples until the proofs hold, for a bounded time: it looks at
// levels, so it does not matter when they were reached. A request to heal does
// not wait for a sample to end.
func (e *Engine) settle(ctx context.Context, p *placement) {
	ctx, cancel := p.untilAsked(ctx)
	defer cancel()
	bound := time.NewTimer(min(e.opt.Settle, p.duration))
	defer bound.Stop()
	for again := false; ; again = true {
		start := e.opt.Clock.Now()
		e.sample(ctx, p, history.During, again)
		p.setSampling(e.opt.Clock.Now() - start)
		if e.decide(p, func(*history.Landing) {}) == history.Landed {
			p.change(func(l *history.Landing) { l.Times.EffectNS = int64(start) })
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
	left := p.remaining(e.opt.Clock.Now())
	if p.plan.Brief {
		left = 0
	}
	bound := time.NewTimer(left)
	defer bound.Stop()
	patience := sampleBound
	select {
	case <-bound.C:
	case <-p.asked:
		patience = hurriedBound
		if now := e.opt.Clock.Now(); !p.plan.Brief && p.remaining(now) > 0 {
			p.change(func(l *history.Landing) { l.Times.AskedNS = int64(now) })
		}
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

// abandon ends a fault of which nothing was done. It has nothing to heal, unless its trap
// could not be taken out.
func (e *Engine) abandon(p *placement, err error) (history.Landing, error) {
	p.change(func(l *history.Landing) {
		if len(l.Proofs) == 0 { // it has no plan, and so it was not begun
			l.State = history.NotLanded
		}
	})
	p.wrong(err)
	healed := history.HealVerified
	switch stays := (trapStays{}); {
	case errors.As(err, &stays):
		healed = history.HealFailed
		p.unhealed(err)
	default:
		if len(p.plan.Entries) > 0 {
			// Its plan may be on disk. If this line cannot be written, recovery
			// undoes nothing, which is harmless.
			_ = e.append(KindHealed, Healed{Fault: p.id(), Did: "was never applied"})
		}
		p.change(func(l *history.Landing) { l.Proofs = l.Proofs[:len(p.plan.Proofs)] })
	}
	e.decide(p, func(l *history.Landing) { l.Healed = healed })
	p.finish()
	return p.snapshot(), err
}
