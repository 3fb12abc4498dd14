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

// A placement is one fault on its way from asked to healed.
type placement struct {
	target   Target
	duration time.Duration
	plan     *Injection
	checks   []Check // of its heal, those of its nodes first

	heal   func()        // asks to heal now; any number of times
	asked  chan struct{} // closed: heal now
	shared chan struct{} // closed: taken out, while another fault still holds a node of it
	done   chan struct{} // closed: healed and read back, or never injected
	share  func()
	finish func()
	mend   sync.Mutex // one heal at a time

	mu       sync.Mutex    // guards what follows
	in       bool          // its entries are, or are about to be, in their layers
	sampling time.Duration // that reading all proofs took
	landing  history.Landing
	problems []string // what went wrong beside the proofs
	failure  string   // why the last heal failed
}

func newPlacement(id string, target Target, r Request, now time.Duration) *placement {
	p := &placement{
		target:   target,
		duration: r.Duration,
		plan:     &Injection{},
		asked:    make(chan struct{}),
		shared:   make(chan struct{}),
		done:     make(chan struct{}),
	}
	p.heal = sync.OnceFunc(func() { close(p.asked) })
	p.share = sync.OnceFunc(func() { close(p.shared) })
	p.finish = sync.OnceFunc(func() { close(p.done) })
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

// id needs no lock, nor does what: both are set once.
func (p *placement) id() string { return p.landing.Fault }

// what names it in an error: f1 (pause node-2).
func (p *placement) what() string {
	return fmt.Sprintf("%s (%s %s)", p.landing.Fault, p.landing.Type, strings.Join(p.landing.Nodes, ", "))
}

// change changes the landing.
func (p *placement) change(f func(*history.Landing)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.landing)
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

// stillWanted is nil unless the caller is gone or asked to heal already.
func (p *placement) stillWanted(ctx context.Context) error {
	select {
	case <-p.asked:
		return errors.New("it was healed before it was in place")
	default:
		return ctx.Err()
	}
}

// untilAsked is a context that also ends when somebody asks to heal.
func (p *placement) untilAsked(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.asked:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// awaitHeal waits until the fault is healed, or until all that is missing is
// another fault's end.
func (p *placement) awaitHeal() {
	select {
	case <-p.done:
	case <-p.shared:
	}
}

// setPlan notes what is to be done.
func (p *placement) setPlan(plan *Injection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.checks = plan, slices.Concat(serving(p.target.Nodes), plan.Healed)
}

// does reports whether p is a fault of that type, not healed yet, with an entry
// that equals e in everything but its fault.
func (p *placement) does(typ string, e Entry) bool {
	for _, over := range []chan struct{}{p.asked, p.done} {
		select {
		case <-over:
			return false
		default:
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.landing.Type == typ && p.landing.Times.HealNS == 0 && slices.ContainsFunc(p.plan.Entries, func(o Entry) bool {
		return o.Layer == e.Layer && o.Want == e.Want && reflect.DeepEqual(o.Args, e.Args)
	})
}

// watch starts what looks on while the fault is applied.
func (p *placement) watch(ctx context.Context) (stop func()) {
	if p.plan.Watch == nil {
		return func() {}
	}
	return p.plan.Watch(context.WithoutCancel(ctx))
}

// journalled are the entries that are on disk before anything is done: what undoes the
// fault without its keeper, or without its cluster.
func (p *placement) journalled() []Entry {
	return slices.Concat(p.plan.Traps, p.plan.Entries, foreign(p.id(), p.target.Nodes))
}

// setSampling notes how long reading all proofs takes.
func (p *placement) setSampling(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sampling = d
}

// remaining is how long to hold the fault before the last sample.
func (p *placement) remaining(now time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Duration(p.landing.Times.AppliedNS) + p.duration - p.sampling - now
}

func (p *placement) setIn(in bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.in = in
}

func (p *placement) isIn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.in
}

// snapshot copies the landing as far as it still changes.
func (p *placement) snapshot() history.Landing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return clone(p.landing)
}

func (p *placement) healError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failure == "" {
		return nil
	}
	return fmt.Errorf("heal %s: %s; heal it again, or stop the cluster", p.what(), p.failure)
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
