package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// heal takes a fault's entries out, reads back that its nodes serve, and
// decides its landing for good.
func (e *Engine) heal(ctx context.Context, p *placement) {
	p.mend.Lock()
	defer p.mend.Unlock()
	defer p.finish()

	call := e.call(history.KindHeal, p)
	p.change(func(l *history.Landing) { l.Times.HealNS = int64(e.opt.Clock.Now()) })
	err := e.takeBack(ctx, p)
	e.sample(ctx, p, history.After, true)
	p.close(err)
	if unserved(err) {
		down := e.missing(ctx, p)
		p.change(func(l *history.Landing) { l.Down = down })
	}
	outcome := history.OK // also where a node is down: from then on it could have served
	if err != nil && !unserved(err) {
		outcome = history.Info
	}
	over := int64(e.opt.Clock.Now())
	e.returned(history.KindHeal, p, call, outcome)
	e.decide(p, func(l *history.Landing) {
		if p.plan.Detail != nil {
			l.Detail = p.plan.Detail()
		}
		switch {
		case err != nil && !unserved(err):
			l.Healed, l.Times.HealedNS = history.HealFailed, 0
		case err != nil:
			l.Healed, l.Times.HealedNS = history.HealDown, over
		case l.Healed != history.HealDown: // what a second start mended, the first had not
			l.Healed, l.Times.HealedNS = history.HealVerified, over
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
	return e.out(ctx, p, err)
}

// healNow heals a fault at once, or once more where that failed before: its
// layers then render again what they should show.
func (e *Engine) healNow(ctx context.Context, p *placement) {
	if p.healError() != nil {
		e.heal(context.WithoutCancel(ctx), p)
		return
	}
	p.heal()
	p.awaitHeal()
}

// remove takes the entries out of the layers, and then out of the journal.
func (e *Engine) remove(ctx context.Context, p *placement) error {
	ctx, cancel := context.WithTimeout(ctx, e.patience(p))
	defer cancel()
	err := e.layers.remove(ctx, p.id(), slices.Concat(p.plan.Entries, p.plan.Traps), p.plan.Rolling)
	p.setIn(false)
	if err != nil {
		return err
	}
	if err := e.append(KindHealed, Healed{Fault: p.id(), Did: "rendered without it"}); err != nil {
		// The next start will undo it once more, which changes nothing.
		p.problem(fmt.Sprintf("the heal is not in the journal: %v", err))
	}
	return nil
}

// patience is how long the layers of a fault may take to change.
func (e *Engine) patience(p *placement) time.Duration {
	if p.plan.Rolling {
		return e.opt.Recovery * time.Duration(max(1, len(p.plan.Entries)))
	}
	return e.opt.Recovery
}

// close notes how the heal ended.
func (p *placement) close(err error) {
	if err != nil {
		p.problem("heal: " + err.Error())
	}
	p.unhealed(err)
}

// unhealed keeps why a heal failed; nil that it did not.
func (p *placement) unhealed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = ""
	if err != nil {
		p.failure = err.Error()
	}
}

// readBack waits until every check of the heal holds: that the fault's nodes run
// and answer a new client, and its own, within the time a node may take to recover. As long as another fault holds
// one of them nothing can be read; it waits for that one's end first.
func (e *Engine) readBack(ctx context.Context, p *placement) error {
	for others := e.list.sharing(p); len(others) > 0; others = e.list.sharing(p) {
		e.share(p, others)
		for _, o := range others {
			<-o.done
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

// out passes on that a node does not serve, unless something of the fault is
// still there: then that is the reason, and the failure is ours.
func (e *Engine) out(ctx context.Context, p *placement, down error) error {
	ctx, cancel := context.WithTimeout(ctx, e.opt.Settle)
	defer cancel()
	if err := e.check(ctx, p, len(p.target.Nodes)); err != nil {
		return fmt.Errorf("%v; and %v", down, err)
	}
	return down
}

// share tells that all of p is out, and what its nodes still wait for. The
// reason lasts until p is decided.
func (e *Engine) share(p *placement, others []*placement) {
	p.change(func(l *history.Landing) {
		for _, o := range others {
			l.Reasons = append(l.Reasons, fmt.Sprintf("taken out; it will be read back when %s is healed", o.what()))
		}
	})
	p.share()
	e.opt.OnChange(p.snapshot())
}

// Retire undoes, once its cluster is gone, what could not be healed on it, and
// writes that down. The landings stay as they are: nobody read back anything.
func (e *Engine) Retire(ctx context.Context) error {
	var left []Entry
	for _, p := range e.list.all() {
		if p.healError() != nil {
			left = append(left, p.journalled()...)
		}
	}
	undone, err := Recover(ctx, left, Undoers())
	for _, h := range undone {
		err = errors.Join(err, e.append(KindHealed, h))
	}
	return err
}
