package disk

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"time"
)

// A table is the rules that are set. It decides; who asks does.
type table struct {
	mu    sync.RWMutex
	rules []*armed
}

// An armed rule counts.
type armed struct {
	Rule
	mu     sync.Mutex
	own    tally
	probes tally
	last   []Hit
	failed map[uint64]bool // inodes whose fsync fails for good

	held    chan struct{} // closed when an operation is held
	first   Hit           // that one
	resumed chan struct{} // closed when nothing is held any more
}

type tally struct {
	matched, hits int64
	random        *rand.Rand
}

func arm(r Rule) *armed {
	return &armed{Rule: r, failed: map[uint64]bool{}, held: make(chan struct{}), resumed: make(chan struct{}),
		own:    tally{random: rand.New(rand.NewPCG(r.Seed, 0))},
		probes: tally{random: rand.New(rand.NewPCG(r.Seed, 1))}}
}

// set makes these the rules. Those that were set and are the same go on.
func (t *table) set(rules []Rule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.rules
	t.rules = nil
	for _, r := range rules {
		i := slices.IndexFunc(old, func(a *armed) bool { return reflect.DeepEqual(a.Rule, r) })
		if i < 0 {
			t.rules = append(t.rules, arm(r))
			continue
		}
		t.rules = append(t.rules, old[i])
		old = slices.Delete(slices.Clone(old), i, i+1)
	}
	for _, a := range old {
		a.resume()
	}
}

func (t *table) find(id string) *armed {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, a := range t.rules {
		if a.ID == id {
			return a
		}
	}
	return nil
}

func (t *table) snapshot() []*armed {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.rules
}

// An operation is what the rules look at.
type operation struct {
	op     Op
	inode  uint64
	paths  []string
	off, n int64
	probe  bool
	forced bool // by the kernel, to write a mapping back: it cannot be held
}

// A delay is how long an operation waits, unless its rule ends before.
type delay struct {
	by   *armed
	wait time.Duration
}

// A blow is what the rules do to an operation.
type blow struct {
	delays        []delay
	errno         string
	failed        Failed
	failing       *armed // whose errno it is
	before, after []*armed
}

// strike asks the rules, in their order: delays add up, the first error is
// the one.
func (t *table) strike(o operation) blow {
	var b blow
	for _, a := range t.snapshot() {
		a.strike(o, &b)
	}
	return b
}

func (a *armed) strike(o operation, b *blow) {
	if !a.matches(o) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	hit := a.of(o.probe).hit(a.Rule) || (o.op == Fsync && a.failed[o.inode])
	if !hit {
		return
	}
	a.of(o.probe).hits++
	h := Hit{Time: time.Now(), Rule: a.ID, Op: o.op, Offset: o.off, Length: o.n, Errno: a.Errno, Delay: a.Delay, Probe: o.probe}
	if len(o.paths) > 0 {
		h.Path = o.paths[0]
	}
	if a.Jitter > 0 {
		h.Delay += time.Duration(a.of(o.probe).random.Int64N(int64(a.Jitter)))
	}
	if h.Delay > 0 {
		b.delays = append(b.delays, delay{a, h.Delay})
	}
	if b.errno == "" && a.Errno != "" {
		b.errno, b.failing, b.failed = a.Errno, a, a.Failed
		if a.Failed == FailedKeeps && o.op == Fsync {
			a.failed[o.inode] = true
		}
	}
	a.remember(h)
	a.hold(h, o, b)
}

func (a *armed) matches(o operation) bool {
	if len(a.Ops) > 0 && !slices.Contains(a.Ops, o.op) {
		return false
	}
	// A probe stands for whatever files a rule is about: no name of its own
	// could match every pattern.
	return a.Path == "" || o.probe || slices.ContainsFunc(o.paths, func(p string) bool { return matches(a.Path, p) })
}

func (a *armed) of(probe bool) *tally {
	if probe {
		return &a.probes
	}
	return &a.own
}

// hit counts an operation that matches and says whether it is hit.
func (t *tally) hit(r Rule) bool {
	t.matched++
	n := t.matched - int64(r.Skip)
	switch {
	case n <= 0, r.Every > 1 && n%int64(r.Every) != 0:
		return false
	case r.Max > 0 && t.hits >= int64(r.Max):
		return false
	}
	return r.Probability == 0 || t.random.Float64() < r.Probability
}

// remember keeps the first and the last hits.
func (a *armed) remember(h Hit) {
	if len(a.last) == LastHits {
		a.last = slices.Delete(a.last, LastHits/2, LastHits/2+1)
	}
	a.last = append(a.last, h)
}

func (a *armed) hold(h Hit, o operation, b *blow) {
	if a.Hold == HoldNone || o.forced || o.probe {
		return
	}
	select {
	case <-a.resumed:
		return
	default:
	}
	if a.Hold == HoldBefore {
		b.before = append(b.before, a)
	} else {
		b.after = append(b.after, a)
	}
	a.first = h
}

// holding tells those who wait that an operation is held.
func (a *armed) holding() {
	a.mu.Lock()
	defer a.mu.Unlock()
	closeOnce(a.held)
}

func (a *armed) resume() {
	a.mu.Lock()
	defer a.mu.Unlock()
	closeOnce(a.resumed)
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// lost notes what the last failed fsync took.
func (a *armed) lost(bytes int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.last) > 0 {
		a.last[len(a.last)-1].Lost = bytes
	}
}

func (a *armed) stats() RuleHits {
	a.mu.Lock()
	defer a.mu.Unlock()
	return RuleHits{Matched: a.own.matched, Hits: a.own.hits, Probes: a.probes.hits, Last: slices.Clone(a.last)}
}
