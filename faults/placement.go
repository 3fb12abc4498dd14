package faults

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// A phase is how far a fault is in its life, which engine_life.go tells. It never goes back.
type phase int

const (
	asked   phase = iota // it has an id
	planned              // its undo is on disk
	applied              // its entries are in their layers, or on their way there
	healing              // its entries are on their way out
	out                  // its entries are in no layer
	shared               // as out, and another fault holds a node of it: nothing can be read back
	over                 // it is read back, or was never applied
)

// A placement is one fault. A single goroutine takes it through its life: the caller of
// Inject, then hold, then callers of Heal if the heal failed.
type placement struct {
	target Target
	asked  context.Context // ends when the fault is to be healed
	heal   func(why error) // ends asked; any number of times, and the first counts. Why is nil on request
	mend   sync.Mutex      // one heal at a time

	mu       sync.Mutex // guards what follows
	phase    phase
	begun    [over + 1]chan struct{} // each closed when its phase, or a later one, begins
	plan     *Injection              // its checks begin with those of its nodes
	landing  history.Landing         // Fault, Type, Nodes and Times.DurationNS do not change
	problems []string                // what went wrong beside the proofs
	failure  error                   // of the last heal
}

func newPlacement(id string, target Target, r Request, now time.Duration) *placement {
	p := &placement{target: target, plan: &Injection{}}
	p.asked, p.heal = context.WithCancelCause(context.Background())
	for i := range p.begun {
		p.begun[i] = make(chan struct{})
	}
	p.landing = history.Landing{
		Fault:  id,
		Type:   r.Type,
		Target: r.Target,
		Nodes:  names(target.Nodes),
		Params: r.Params,
		Call:   r.JournalCall,
		ByHand: r.ByHand,
		Times:  history.LandingTimes{PlannedNS: int64(now), DurationNS: int64(r.Duration)},
		Proofs: []history.ProofRecord{},
		State:  history.Indeterminate,
		Healed: history.HealPending,
	}
	return p
}

func (p *placement) id() string { return p.landing.Fault }

// what names it in an error: f1 (pause node-2).
func (p *placement) what() string {
	return fmt.Sprintf("%s (%s %s)", p.landing.Fault, p.landing.Type, strings.Join(p.landing.Nodes, ", "))
}

func (p *placement) duration() time.Duration { return time.Duration(p.landing.Times.DurationNS) }

// enter begins a phase, unless it is past it.
func (p *placement) enter(next phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; p.phase < next; p.phase++ {
		close(p.begun[p.phase+1])
	}
}

// in reports whether its entries are, or may be, in their layers.
func (p *placement) in() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.phase == applied || p.phase == healing
}

// change changes the landing.
func (p *placement) change(f func(*history.Landing)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.landing)
}

// snapshot copies the landing as far as it still changes.
func (p *placement) snapshot() history.Landing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return clone(p.landing)
}

// problem notes what went wrong beside the proofs.
func (p *placement) problem(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.problems, text) {
		p.problems = append(p.problems, text)
	}
}

// wrong notes the error that ended the injection, and whether it says that
// the fault cannot be done here.
func (p *placement) wrong(err error) {
	p.problem(err.Error())
	if errors.Is(err, ErrUnsupported) {
		p.change(func(l *history.Landing) { l.State = history.Unsupported })
	}
}

// ended returns how the last heal ended, once one has.
func (p *placement) ended() (bool, history.HealState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.phase == over, p.landing.Healed
}

func (p *placement) healError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure == nil {
		return nil
	}
	return fmt.Errorf("heal %s: %v; heal it again, or stop the cluster", p.what(), p.failure)
}

// stillWanted is nil unless the caller is gone or asked to heal already.
func (p *placement) stillWanted(ctx context.Context) error {
	if p.asked.Err() != nil {
		return errors.New("it was healed before it was in place")
	}
	return ctx.Err()
}

// untilAsked is a context that also ends when the fault is to be healed.
func (p *placement) untilAsked(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(p.asked, cancel)
	return ctx, func() { stop(); cancel() }
}

// does reports whether p is a fault of that type before its heal, with an entry
// that equals e but for its fault.
func (p *placement) does(typ string, e Entry) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked.Err() == nil && p.phase <= applied && p.landing.Type == typ && slices.ContainsFunc(p.plan.Entries, func(o Entry) bool {
		return o.Layer == e.Layer && o.Want == e.Want && reflect.DeepEqual(o.Args, e.Args)
	})
}

// journalled are the entries that are on disk before anything is done: what undoes the
// fault without its keeper, or without its cluster.
func (p *placement) journalled() []Entry {
	return slices.Concat(p.plan.Traps, p.plan.Entries, foreign(p.id(), p.target.Nodes))
}

func clone(l history.Landing) history.Landing {
	l.Reasons = slices.Clone(l.Reasons)
	l.Proofs = slices.Clone(l.Proofs)
	for i := range l.Proofs {
		l.Proofs[i].Samples = slices.Clone(l.Proofs[i].Samples)
	}
	return l
}

func names(nodes []Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.Name()
	}
	return out
}
