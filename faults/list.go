package faults

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// defaultDuration bounds a fault that was asked for without a duration.
const defaultDuration = 10 * time.Second

// A list is every fault of a run, in the order they were asked for.
type list struct {
	mu     sync.Mutex
	placed []*placement
	opened int
}

// open gives a fault its id and its landing, if it is admitted among those
// there are.
func (l *list) open(r Request, target Target, now time.Duration) (*placement, error) {
	if r.Type == "" {
		r.Type = r.Fault.Name()
	}
	if r.Target == "" {
		r.Target = target.Asked
	}
	if r.Duration <= 0 {
		r.Duration = defaultDuration
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Admit != nil {
		var all []history.Landing
		for _, p := range l.placed {
			all = append(all, p.snapshot())
		}
		if err := r.Admit(r, target, all); err != nil {
			return nil, err
		}
	}
	l.opened++
	p := newPlacement(fmt.Sprintf("f%d", l.opened), target, r, now)
	l.placed = append(l.placed, p)
	return p, nil
}

// drop forgets a fault that was refused: it never was one.
func (l *list) drop(p *placement) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.placed = slices.DeleteFunc(l.placed, func(o *placement) bool { return o == p })
	if p.landing.Fault == fmt.Sprintf("f%d", l.opened) {
		l.opened--
	}
}

// inPlace is an error where earlier faults of p's own kind do all that p would
// do, at the same places.
func (l *list) inPlace(p *placement, entries []Entry) error {
	var same []*placement
	for _, e := range entries {
		at := -1
		for _, o := range l.before(p) {
			if o.does(p.landing.Type, e) {
				at = len(same)
				same = append(same, o)
			}
		}
		if at < 0 {
			return nil
		}
	}
	if len(same) == 0 {
		return nil
	}
	o := same[0]
	return fmt.Errorf("%w: %s does all of that until it is healed; call heal_fault %s first, or choose another target or other parameters. Nothing was changed", ErrInPlace, o.what(), o.id())
}

// before are the faults that were asked for before p.
func (l *list) before(p *placement) []*placement {
	all := l.all()
	return all[:max(0, slices.Index(all, p))]
}

func (l *list) all() []*placement {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.placed)
}

func (l *list) find(id string) (*placement, error) {
	var known []string
	for _, p := range l.all() {
		if p.id() == id {
			return p, nil
		}
		known = append(known, p.what())
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("no fault %q: none was injected yet", id)
	}
	return nil, fmt.Errorf("no fault %q; known: %s", id, strings.Join(known, ", "))
}

// sharing are the other faults that are in place on a node of p.
func (l *list) sharing(p *placement) []*placement {
	var out []*placement
	for _, name := range p.landing.Nodes {
		for _, o := range l.holding(name, p) {
			if !slices.Contains(out, o) {
				out = append(out, o)
			}
		}
	}
	return out
}

// holding are the faults in place on a node, except p.
func (l *list) holding(node string, p *placement) []*placement {
	var out []*placement
	for _, o := range l.all() {
		if o != p && o.in() && slices.Contains(o.landing.Nodes, node) {
			out = append(out, o)
		}
	}
	return out
}

// busy reports whether any other fault is in place.
func (l *list) busy(p *placement) bool {
	return slices.ContainsFunc(l.all(), func(o *placement) bool { return o != p && o.in() })
}

// clouded reports whether another fault is in place on a node of p, or could
// not be healed there.
func (l *list) clouded(p *placement) bool {
	return len(l.sharing(p)) > 0 || slices.ContainsFunc(l.all(), func(o *placement) bool {
		return o != p && o.snapshot().Healed == history.HealFailed &&
			slices.ContainsFunc(o.landing.Nodes, func(n string) bool { return slices.Contains(p.landing.Nodes, n) })
	})
}

// untouched keeps the nodes that no other fault holds. The last one stays: it
// is the witness, which no fault acts on.
func (l *list) untouched(control []Node, p *placement) []Node {
	var out []Node
	for i, n := range control {
		if i == len(control)-1 || len(l.holding(n.Name(), p)) == 0 {
			out = append(out, n)
		}
	}
	return out
}

// An ActiveFault is a fault in place, and when it heals by itself.
type ActiveFault struct {
	history.Landing
	HealsIn time.Duration `json:"-"`
}

// Active are the faults in place now, those whose heal failed among them.
func (e *Engine) Active() []ActiveFault {
	now := e.opt.Clock.Now()
	var out []ActiveFault
	for _, p := range e.list.all() {
		l := p.snapshot()
		if !p.in() && p.healError() == nil {
			continue
		}
		left := time.Duration(l.Times.AppliedNS+l.Times.DurationNS) - now
		out = append(out, ActiveFault{Landing: l, HealsIn: max(left, 0)})
	}
	return out
}

// Landings are those of all faults so far, in the order they were asked for.
func (e *Engine) Landings() []history.Landing {
	out := []history.Landing{}
	for _, p := range e.list.all() {
		out = append(out, p.snapshot())
	}
	return out
}
