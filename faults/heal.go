package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// heal takes a fault's entries out, reads back that its nodes serve, and
// decides its landing for good.
func (e *Engine) heal(ctx context.Context, p *placement) {
	p.mend.Lock()
	defer p.mend.Unlock()
	defer p.finish()

	call := e.call(history.KindHeal, p)
	p.change(func(l *history.Landing) { l.Times.HealNS = int64(e.opt.Clock.Now()) })
	err := e.remove(ctx, p)
	if err == nil {
		err = e.readBack(ctx, p)
	}
	e.sample(ctx, p, history.After, true)
	e.close(p, err)
	outcome := history.OK
	if err != nil {
		outcome = history.Info
	}
	e.returned(history.KindHeal, p, call, outcome)
	e.decide(p)
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
	ctx, cancel := context.WithTimeout(ctx, e.opt.Recovery)
	defer cancel()
	err := e.layers.remove(ctx, p.id(), p.plan.Entries)
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

// close writes down how the heal ended.
func (e *Engine) close(p *placement, err error) {
	if err != nil {
		p.problem("heal: " + err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = ""
	p.landing.Healed = history.HealVerified
	p.landing.Times.HealedNS = int64(e.opt.Clock.Now())
	if err != nil {
		p.failure = err.Error()
		p.landing.Healed = history.HealFailed
		p.landing.Times.HealedNS = 0
	}
}

// readBack waits until every node of the fault runs and answers a new client,
// within the time a node may take to recover. As long as another fault holds
// one of them nothing can be read; it waits for that one's end first.
func (e *Engine) readBack(ctx context.Context, p *placement) error {
	for {
		others := e.list.sharing(p)
		if len(others) == 0 {
			break
		}
		e.share(p, others)
		for _, o := range others {
			<-o.done
		}
	}
	bound, cancel := context.WithTimeout(ctx, e.opt.Recovery)
	defer cancel()
	for {
		err := serve(bound, p.target.Nodes)
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
	p.share()
	e.opt.OnChange(p.snapshot())
}

// serve checks that every node runs and answers.
func serve(ctx context.Context, nodes []Node) error {
	for _, n := range nodes {
		state, err := n.State(ctx)
		if err != nil {
			return fmt.Errorf("read the state of %s: %w", n.Name(), err)
		}
		if state != Running {
			return fmt.Errorf("%s is not running: %s", n.Name(), state)
		}
		if _, err := n.Probe(ctx); err != nil {
			return fmt.Errorf("%s does not answer: %w", n.Name(), err)
		}
	}
	return nil
}
