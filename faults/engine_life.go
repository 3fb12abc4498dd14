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

// live takes a fault through its life:
//
//	asked ──plan──▸ planned ──await, apply──▸ applied ──settle, hold──▸ healing ──remove──▸ out ──read back──▸ over
//
// and returns once it was sampled in place. There are three shorter ways to the end. A fault
// that is not planned, or not wanted any more, is abandoned. A fault whose moment does not come
// is missed. A fault that is applied in part is taken out at once.
func (e *Engine) live(ctx context.Context, f Fault, p *placement) error {
	if err := e.plan(ctx, f, p); err != nil {
		if errors.Is(err, ErrInPlace) {
			return e.refuse(p, err)
		}
		return e.abandon(p, err)
	}
	e.baseline(ctx, p)
	missed := e.await(ctx, p)
	if unwanted := p.stillWanted(ctx); unwanted != nil {
		return e.abandon(p, fmt.Errorf("%s was not injected: %w", p.what(), e.disarm(ctx, p, unwanted)))
	}
	if missed != nil {
		e.miss(ctx, p, missed)
		return nil
	}
	if p.plan.Watch != nil {
		defer p.plan.Watch(context.WithoutCancel(ctx))()
	}
	if err := e.apply(ctx, p); err != nil {
		return e.takeOut(ctx, p, err)
	}
	took := e.settle(ctx, p)
	go e.hold(context.WithoutCancel(ctx), p, took)
	if err := ctx.Err(); err != nil {
		p.heal(nil)
		<-p.begun[shared]
		return fmt.Errorf("%s was healed early: %w", p.what(), err)
	}
	return nil
}

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
	plan.Healed = slices.Concat(serving(p.target.Nodes), plan.Healed)
	p.change(func(l *history.Landing) {
		p.plan = plan
		l.Mechanism, l.Ends, l.Rolling, l.Forges = plan.Mechanism, ends(plan.Entries), plan.Rolling, plan.Forges
		l.Proofs = append(records(plan.Proofs), checkRecords(plan.Healed)...)
	})
	err = e.append(KindPlan, Planned{
		Fault: p.id(), Type: p.landing.Type, Nodes: p.landing.Nodes,
		DurationNS: p.landing.Times.DurationNS, Entries: p.journalled(),
	})
	if err != nil {
		return fmt.Errorf("%s was not injected: its undo is not on disk: %w", p.what(), err)
	}
	p.enter(planned)
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
		return e.disarm(ctx, p, err)
	}
	p.change(func(l *history.Landing) { l.Times.TriggerNS = int64(e.opt.Clock.Now()) })
	return nil
}

// A trapStays error means: the moment of a fault did not come, and its trap is still in
// place. The heal has failed.
type trapStays struct{ error }

// disarm takes out the trap of a fault whose moment did not come, and returns why it did
// not.
func (e *Engine) disarm(ctx context.Context, p *placement, why error) error {
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

// apply puts the entries in place, and does what happens once before them and after them.
func (e *Engine) apply(ctx context.Context, p *placement) error {
	ctx, cancel := context.WithTimeout(ctx, e.patience(p))
	defer cancel()
	p.enter(applied)
	call := e.call(history.KindInject, p)
	p.change(func(l *history.Landing) { l.Times.ApplyNS = int64(e.opt.Clock.Now()) })
	err := e.place(ctx, p)
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

func (e *Engine) place(ctx context.Context, p *placement) error {
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

// patience is how long the layers of a fault may take to change.
func (e *Engine) patience(p *placement) time.Duration {
	if p.plan.Rolling {
		return e.opt.Recovery * time.Duration(max(1, len(p.plan.Entries)))
	}
	return e.opt.Recovery
}

// settle samples until the proofs hold, for a bounded time: it looks at
// levels, so it does not matter when they were reached. The first look may come before the
// effect and take all the time on a busy host, so there is a second one. A request to heal does
// not wait for a sample to end. It returns how long the last sample took.
func (e *Engine) settle(ctx context.Context, p *placement) (took time.Duration) {
	ctx, cancel := p.untilAsked(ctx)
	defer cancel()
	bound := time.NewTimer(min(e.opt.Settle, p.duration()))
	defer bound.Stop()
	for again := false; ; again = true {
		start := e.opt.Clock.Now()
		e.sample(ctx, p, history.During, again)
		took = e.opt.Clock.Now() - start
		if e.decide(p, func(*history.Landing) {}) == history.Landed {
			p.change(func(l *history.Landing) { l.Times.EffectNS = int64(start) })
			return took
		}
		select {
		case <-bound.C:
			if again {
				return took
			}
			bound.Reset(0)
		case <-ctx.Done():
			return took
		case <-time.After(e.opt.Poll):
		}
	}
}

// hold waits until the fault's time is over, or until it is to be healed, samples it once more
// and heals it. The last sample, which may take as long as the one before it took, counts
// towards the fault's duration.
func (e *Engine) hold(ctx context.Context, p *placement, took time.Duration) {
	remaining := func() time.Duration {
		if p.plan.Brief {
			return 0
		}
		return time.Duration(p.landing.Times.AppliedNS) + p.duration() - took - e.opt.Clock.Now()
	}
	bound := time.NewTimer(remaining())
	defer bound.Stop()
	patience := sampleBound
	select {
	case <-bound.C:
	case <-p.asked.Done():
		patience = hurriedBound
		if remaining() > 0 {
			p.change(func(l *history.Landing) {
				l.Times.AskedNS = int64(e.opt.Clock.Now())
				if why := context.Cause(p.asked); why != context.Canceled {
					l.HealedFor = why.Error()
				}
			})
		}
	}
	e.sampleWithin(ctx, patience, p, history.During, false)
	e.heal(ctx, p)
}

// heal takes a fault's entries out, reads back that its nodes serve, and
// decides its landing for good.
func (e *Engine) heal(ctx context.Context, p *placement) {
	p.mend.Lock()
	defer p.mend.Unlock()
	defer p.enter(over)
	p.enter(healing)
	call := e.call(history.KindHeal, p)
	p.change(func(l *history.Landing) {
		if l.Healed != history.HealDown { // else the first heal counts, which took the fault out
			l.Times.HealNS = int64(e.opt.Clock.Now())
		}
	})
	err := e.takeBack(ctx, p)
	e.sample(ctx, p, history.After, true)
	var down map[string]string
	if err != nil {
		p.problem("heal: " + err.Error())
	}
	if unserved(err) {
		down = e.missing(ctx, p)
	}
	outcome := history.OK // also where a node is down: from then on it could have served
	if err != nil && !unserved(err) {
		outcome = history.Info
	}
	ended := int64(e.opt.Clock.Now())
	e.returned(history.KindHeal, p, call, outcome)
	e.decide(p, func(l *history.Landing) {
		p.failure = err // with the state of the heal: who asks for one has the other
		if down != nil {
			l.Down = down
		}
		if p.plan.Detail != nil {
			l.Detail = p.plan.Detail()
		}
		switch {
		case err != nil && !unserved(err):
			l.Healed, l.Times.HealedNS = history.HealFailed, 0
		case err != nil:
			l.Healed, l.Times.HealedNS = history.HealDown, ended
		case l.Healed != history.HealDown: // what a second start mended, the first had not
			l.Healed, l.Times.HealedNS = history.HealVerified, ended
		}
	})
}

// takeBack takes a fault out and reads that back. After an [unserved] error the
// fault is out completely, but a node does not come back.
func (e *Engine) takeBack(ctx context.Context, p *placement) error {
	clouded := e.list.clouded(p)
	err := e.remove(ctx, p)
	if err == nil {
		clouded, err = false, e.readBack(ctx, p)
	}
	if !unserved(err) {
		return err
	}
	// If another fault held the node meanwhile, the node may be down because of
	// that one. If the heal is rolling, the fault is not yet out of the nodes
	// that follow. Neither error may count as [unserved].
	if clouded || e.list.clouded(p) || p.plan.Rolling {
		return fmt.Errorf("%v", err)
	}
	// If something of the fault is still there, that is the reason, and the failure is ours.
	ctx, cancel := context.WithTimeout(ctx, e.opt.Settle)
	defer cancel()
	if stays := e.check(ctx, p, len(p.target.Nodes)); stays != nil {
		return fmt.Errorf("%v; and %v", err, stays)
	}
	return err
}

// remove takes the entries out of the layers, and then out of the journal.
func (e *Engine) remove(ctx context.Context, p *placement) error {
	ctx, cancel := context.WithTimeout(ctx, e.patience(p))
	defer cancel()
	err := e.layers.remove(ctx, p.id(), slices.Concat(p.plan.Entries, p.plan.Traps), p.plan.Rolling)
	p.enter(out)
	if err != nil {
		return err
	}
	if err := e.append(KindHealed, Healed{Fault: p.id(), Did: "rendered without it"}); err != nil {
		// The next start will undo it once more, which changes nothing.
		p.problem(fmt.Sprintf("the heal is not in the journal: %v", err))
	}
	return nil
}

// readBack waits until every check of the heal holds: that the fault's nodes run and answer a
// new client, and its own, within the time a node may take to recover. As long as another
// fault holds one of them nothing can be read; it waits for that one's end first.
func (e *Engine) readBack(ctx context.Context, p *placement) error {
	for others := e.list.sharing(p); len(others) > 0; others = e.list.sharing(p) {
		e.share(p, others)
		for _, o := range others {
			<-o.begun[over]
		}
	}
	bound, cancel := context.WithTimeout(ctx, e.opt.Recovery)
	defer cancel()
	for {
		err := e.check(bound, p, 0)
		if err == nil {
			return nil
		}
		if len(e.list.sharing(p)) > 0 { // another fault came meanwhile
			return e.readBack(ctx, p)
		}
		select {
		case <-bound.Done():
			return fmt.Errorf("%w, %v after the heal", err, e.opt.Recovery)
		case <-time.After(e.opt.Poll):
		}
	}
}

// share tells that all of p is out, and what its nodes still wait for. The
// reason lasts until p is decided.
func (e *Engine) share(p *placement, others []*placement) {
	p.change(func(l *history.Landing) {
		for _, o := range others {
			l.Reasons = append(l.Reasons, fmt.Sprintf("taken out; it will be read back when %s is healed", o.what()))
		}
	})
	p.enter(shared)
	e.opt.OnChange(p.snapshot())
}

// healNow heals a fault at once, or once more if its heal has one of these states: its
// layers then render again what they should show.
func (e *Engine) healNow(ctx context.Context, p *placement, why error, again ...history.HealState) {
	if ended, state := p.ended(); ended && slices.Contains(again, state) {
		e.heal(context.WithoutCancel(ctx), p)
		return
	}
	p.heal(why)
	<-p.begun[shared]
}

// refuse ends a fault that never was one: nothing is decided of it, and nothing is told.
func (e *Engine) refuse(p *placement, err error) error {
	e.list.drop(p)
	p.change(func(l *history.Landing) {
		l.State, l.Healed, l.Reasons = history.NotLanded, history.HealVerified, []string{err.Error()}
	})
	p.enter(over)
	return err
}

// abandon ends a fault of which nothing was done. It has nothing to heal, unless its trap
// could not be taken out.
func (e *Engine) abandon(p *placement, err error) error {
	p.change(func(l *history.Landing) {
		if len(l.Proofs) == 0 { // it has no plan, and so it was not begun
			l.State = history.NotLanded
		}
	})
	p.wrong(err)
	healed, failure := history.HealVerified, error(nil)
	switch stays := (trapStays{}); {
	case errors.As(err, &stays):
		healed, failure = history.HealFailed, err
	default:
		if len(p.plan.Entries) > 0 {
			// Its plan may be on disk. If this line cannot be written, recovery
			// undoes nothing, which is harmless.
			_ = e.append(KindHealed, Healed{Fault: p.id(), Did: "was never applied"})
		}
		p.change(func(l *history.Landing) { l.Proofs = l.Proofs[:len(p.plan.Proofs)] })
	}
	e.decide(p, func(l *history.Landing) { l.Healed, p.failure = healed, failure })
	p.enter(over)
	return err
}

// miss ends a fault whose moment did not come. It is sampled as if it were in
// place, so that its proofs show that nothing happened.
func (e *Engine) miss(ctx context.Context, p *placement, why error) {
	e.sample(ctx, p, history.During, false)
	_ = e.abandon(p, fmt.Errorf("nothing was done: %w", why)) // the landing says why
}

// takeOut undoes what was applied in part. Nothing can be said of such a
// fault: it may have had an effect.
func (e *Engine) takeOut(ctx context.Context, p *placement, err error) error {
	p.wrong(err)
	p.heal(nil)
	e.heal(context.WithoutCancel(ctx), p)
	return err
}
