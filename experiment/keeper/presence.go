package keeper

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	defaultGrace = 60 * time.Second
	healBound    = time.Minute
	healAgain    = 50 * time.Millisecond
)

// errDeserted is why a fault was healed.
var errDeserted = errors.New("the client that was connected to the experiment left")

// A presence counts who is there. When the last one leaves an experiment that
// is driven by hand, its faults are healed at once, and it is stopped when
// nobody comes for the grace. A scenario does not care: it runs to its end.
type presence struct {
	exp   Experiment
	log   *slog.Logger
	grace time.Duration // 0: nobody needs to be there

	mu    sync.Mutex
	here  int
	acts  int         // injections under way
	timer *time.Timer // runs while nobody is there
	ended bool
}

func newPresence(exp Experiment, start Start, log *slog.Logger) *presence {
	p := &presence{exp: exp, log: log}
	if start.Scenario != "" {
		return p
	}
	p.grace = defaultGrace
	if start.GraceS > 0 {
		p.grace = time.Duration(start.GraceS) * time.Second
	}
	p.timer = time.AfterFunc(p.grace, p.stop)
	return p
}

func (p *presence) come() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.here++
	if p.timer != nil {
		p.timer.Stop()
	}
}

func (p *presence) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.here--
	if p.here > 0 || p.timer == nil || p.ended {
		return
	}
	p.timer.Reset(p.grace)
	go p.heal()
}

// end is for when the experiment is over.
func (p *presence) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// act is called before a fault is put in place, and done after. The client that
// asked for the fault may be gone by then.
func (p *presence) act() (done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acts++
	if p.here == 0 && p.timer != nil && !p.ended {
		go p.heal()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.acts--
	}
}

// heal heals every fault, also what is still being put in place.
func (p *presence) heal() {
	ctx, cancel := context.WithTimeout(context.Background(), healBound)
	defer cancel()
	p.log.Info("healing all faults", "reason", errDeserted)
	for {
		acting := p.acting()
		if err := p.exp.HealAll(ctx, errDeserted); err != nil {
			p.log.Error("heal every fault", "error", err)
			return
		}
		if !acting || !p.deserted() {
			return
		}
		time.Sleep(healAgain)
	}
}

func (p *presence) acting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acts > 0
}

func (p *presence) stop() {
	if !p.deserted() {
		return // somebody came as the timer fired
	}
	p.log.Info("no client came back: stopping", "grace", p.grace)
	if _, err := p.exp.Stop(context.Background(), Caller{Via: "keeper", Tool: "grace"}); err != nil {
		p.log.Error("stop", "error", err)
	}
}

func (p *presence) deserted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.here == 0 && !p.ended
}
