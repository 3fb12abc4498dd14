package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// Options wire an [Engine]. Journal, Record, Clock, Layer and Decide are
// required.
type Options struct {
	// Journal keeps what must be undone if nobody is left to do it. Append
	// returns when the line is on disk.
	Journal interface {
		Append(kind string, data any) (int, error)
	}
	Record func(history.Event) int64 // adds to the history, answers the event's index
	Clock  interface{ Now() time.Duration }
	Layer  func(name string) (Layer, error)
	// Decide reads a landing's samples: the state, the reasons, and the proofs
	// with what each of them showed. It is pure.
	Decide   func(history.Landing) (history.LandingState, []string, []history.ProofRecord)
	Nodes    func(name string) int16 // index into the run's table of nodes
	OnChange func(history.Landing)   // after every change of a landing; called from many goroutines

	Settle   time.Duration // longest wait for the proofs to hold; 0: 5 s
	Recovery time.Duration // longest wait for a healed node to serve again; 0: 60 s
	Poll     time.Duration // between two looks; 0: 100 ms
}

// ErrInPlace is in the error of a fault that would add nothing to one of its
// own kind. The call was refused: there is no landing of it.
var ErrInPlace = errors.New("it is in place already")

// An Engine puts faults in place, proves them, and heals them, each at its
// bound or earlier. Faults overlap and are healed in any order.
type Engine struct {
	opt    Options
	layers *layers
	list   *list
}

// A Request is a fault and how it was asked for. [Parse] makes one.
type Request struct {
	Fault       Fault
	Type        string         // the catalogue's name of it
	Target      string         // as asked: leader
	Params      map[string]any // as the landing shows them, with defaults filled in
	Duration    time.Duration  // until it heals by itself; 0: 10 s
	JournalCall int            // the journal's entry that asked for it
	ByHand      bool           // a person or an agent asked for it, and not the scenario

	// Admit refuses the fault before anything is known of it but its target, from
	// all faults so far. It must not call the engine; nil admits it.
	Admit func(Request, Target, []history.Landing) error
}

// NewEngine makes an engine with nothing in place.
func NewEngine(opt Options) *Engine {
	if opt.Settle == 0 {
		opt.Settle = 5 * time.Second
	}
	if opt.Recovery == 0 {
		opt.Recovery = 60 * time.Second
	}
	if opt.Poll == 0 {
		opt.Poll = 100 * time.Millisecond
	}
	if opt.Nodes == nil {
		opt.Nodes = func(string) int16 { return history.None }
	}
	if opt.OnChange == nil {
		opt.OnChange = func(history.Landing) {}
	}
	return &Engine{opt: opt, layers: newLayers(opt.Layer), list: &list{}}
}

// Inject puts a fault in place and returns once it was sampled there, with the
// landing so far. From then on it heals by itself when its duration is over,
// whoever is gone by then. Where ctx ends before Inject returns, the fault is
// healed at once. A fault that cannot be done here is a landing of state
// unsupported, and an error wrapping [ErrUnsupported].
func (e *Engine) Inject(ctx context.Context, r Request, target Target) (history.Landing, error) {
	p, err := e.list.open(r, target, e.opt.Clock.Now())
	if err != nil {
		return history.Landing{}, err
	}
	err = e.live(ctx, r.Fault, p)
	return p.snapshot(), err
}

// Miss notes a fault that was asked for and could not be begun: its target was not found.
// It returns its landing, which did not land for that reason.
func (e *Engine) Miss(r Request, asked string, why error) history.Landing {
	p, err := e.list.open(r, Target{Asked: asked}, e.opt.Clock.Now())
	if err != nil { // nobody is asked to admit it
		return history.Landing{}
	}
	p.problem(why.Error())
	p.change(func(l *history.Landing) { l.State = history.NotLanded })
	e.decide(p, func(l *history.Landing) { l.Healed = history.HealVerified })
	p.enter(over)
	return p.snapshot()
}

// Heal takes a fault out now and waits until that was read back, also where
// ctx is over: a heal is bounded by itself. Where another fault still holds
// the same node, the landing stays pending until that one is healed. Healing
// twice is fine, and repeats a heal that failed.
func (e *Engine) Heal(ctx context.Context, id string) (history.Landing, error) {
	p, err := e.list.find(id)
	if err != nil {
		return history.Landing{}, err
	}
	e.healNow(ctx, p, nil, history.HealFailed, history.HealDown)
	return p.snapshot(), p.healError()
}

// HealAll heals every fault and waits until all are read back, also where ctx
// is over. A node that did not come back stays away: only Heal starts it again.
func (e *Engine) HealAll(ctx context.Context) error { return e.HealAllFor(ctx, nil) }

// HealAllFor is HealAll for a reason, which the landings have. Nil is on request.
func (e *Engine) HealAllFor(ctx context.Context, why error) error {
	all := e.list.all()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		wg.Go(func() {
			e.healNow(ctx, p, why, history.HealFailed)
			<-p.begun[over]
			errs[i] = p.healError()
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Wait waits until a fault is healed and read back.
func (e *Engine) Wait(ctx context.Context, id string) (history.Landing, error) {
	p, err := e.list.find(id)
	if err != nil {
		return history.Landing{}, err
	}
	select {
	case <-p.begun[over]:
		return p.snapshot(), nil
	case <-ctx.Done():
		return p.snapshot(), fmt.Errorf("wait for the heal of %s: %w", p.what(), ctx.Err())
	}
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
