package campaigns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/reports"
)

// Work is what a matrix acts through. Its fields are functions, so that a test
// can put any of them in place of the real one.
type Work struct {
	// Provision makes drivers ready, and calls done with each.
	Provision func(ctx context.Context, sdks []clients.SDK, done func(clients.Installation))
	// Run runs an entry, from cluster to verdict, and answers its run. It ends
	// early, but in order, when ctx does; the run then does not count.
	Run func(ctx context.Context, e Entry) (runID string, err error)
	// Read judges a run.
	Read func(runID string) (Cell, error)
	// Save writes what people read. It is called whenever something is new.
	Save func(reports.Matrix) error
	// Tell is called with what happens, one at a time.
	Tell func(Event)
}

// An Event is something that happens to a matrix.
type Event struct {
	Begins   *Entry
	Ends     *Outcome
	Cell     *Cell // of what ends, if it ran
	Text     string
	Done, Of int // entries
}

// Limits are how much a matrix may do.
type Limits struct {
	Jobs     int // runs at the same time
	Referees int // runs beside the matrix, to decide what deviates
}

// A Matrix is being run.
type Matrix struct {
	store  *Store
	work   Work
	limits Limits

	mu    sync.Mutex
	cells map[string]Cell // by run
	extra []Entry         // referees
	jobs  int             // fewer than the limit once the host was starved
	lacks map[string]Outcome
}

// NewMatrix prepares a matrix, or continues one where it stopped. Cells that
// could not be run before are tried again.
func NewMatrix(s *Store, w Work, l Limits) *Matrix {
	s.forget(func(o Outcome) bool { return o.Error != "" })
	m := &Matrix{store: s, work: w, limits: l, jobs: max(l.Jobs, 1), cells: map[string]Cell{}, lacks: map[string]Outcome{}}
	for _, o := range s.Done {
		if o.Entry.Referee != "" && !slices.ContainsFunc(m.extra, func(e Entry) bool { return e.String() == o.Entry.String() }) {
			m.extra = append(m.extra, o.Entry)
		}
	}
	return m
}

// Run runs what is left of the matrix and answers what it shows. When ctx ends
// it stops in order, and the error is that of ctx.
func (m *Matrix) Run(ctx context.Context) (Comparison, error) {
	m.recall()
	m.provision(ctx)
	err := m.runAll(ctx, m.store.Plan.Entries)
	if err == nil && m.limits.Referees > 0 {
		m.extra = append(m.extra, m.referees()...)
		err = m.runAll(ctx, m.extra)
	}
	return m.compare(), errors.Join(err, m.save(err == nil))
}

// recall reads the runs of an earlier attempt. One that cannot be read any more
// is run again.
func (m *Matrix) recall() {
	gone := map[string]bool{}
	for _, o := range m.store.Done {
		if o.RunID == "" {
			continue
		}
		c, err := m.work.Read(o.RunID)
		if err == nil {
			m.cells[o.RunID] = c
			continue
		}
		gone[o.RunID] = true
		m.tell(Event{Text: fmt.Sprintf("run %s cannot be read, %s is run again: %v", o.RunID, o.Entry, err)})
	}
	m.store.forget(func(o Outcome) bool { return gone[o.RunID] })
}

// provision makes all drivers ready before the first run: what builds one
// would starve the others.
func (m *Matrix) provision(ctx context.Context) {
	var sdks []clients.SDK
	for _, e := range m.store.Plan.Entries {
		if _, done := m.store.outcome(e); done || e.Lacks != "" {
			continue
		}
		if sdk, err := clients.ResolveFor(e.SDK, e.Protocol); err == nil && !slices.ContainsFunc(sdks, func(s clients.SDK) bool { return s.String() == sdk.String() }) {
			sdks = append(sdks, sdk)
		}
	}
	m.work.Provision(ctx, sdks, func(i clients.Installation) {
		var lacks *clients.Unsupported
		switch {
		case errors.As(i.Err, &lacks):
			m.lacks[i.SDK.String()] = Outcome{Unsupported: lacks.Missing}
		case i.Err != nil && ctx.Err() == nil:
			m.lacks[i.SDK.String()] = Outcome{Error: i.Err.Error()}
		}
	})
}

// runAll runs entries that have no outcome yet, several at a time; then those
// again, one by one, that the host kept from running.
func (m *Matrix) runAll(ctx context.Context, entries []Entry) error {
	todo := slices.DeleteFunc(slices.Clone(entries), func(e Entry) bool { _, done := m.store.outcome(e); return done })
	err := m.runSome(ctx, todo, false)
	if err != nil {
		return err
	}
	var again []Entry
	for _, e := range entries {
		if o, _ := m.store.outcome(e); !o.Alone && o.RunID != "" && m.cells[o.RunID].Starved() {
			again = append(again, e)
		}
	}
	if len(again) == 0 {
		return nil
	}
	m.tell(Event{Text: fmt.Sprintf("the host was starved in %s; alone:", plural(len(again), "run", "runs"))})
	m.mu.Lock()
	m.jobs = 1
	m.mu.Unlock()
	return m.runSome(ctx, again, true)
}

func (m *Matrix) runSome(ctx context.Context, todo []Entry, alone bool) error {
	var wg sync.WaitGroup
	var first error
	running := 0
	wake := sync.NewCond(&m.mu)
	m.mu.Lock()
	for _, e := range todo {
		for running >= m.jobs && first == nil {
			wake.Wait()
		}
		if first != nil || ctx.Err() != nil {
			break
		}
		running++
		wg.Go(func() {
			err := m.run(ctx, e, alone)
			m.mu.Lock()
			defer m.mu.Unlock()
			if running--; first == nil {
				first = err
			}
			wake.Signal()
		})
	}
	m.mu.Unlock()
	wg.Wait()
	return errors.Join(first, ctx.Err())
}

// run runs one entry and keeps what became of it. An error is of what cannot go
// on; a run that could not be made is an outcome.
func (m *Matrix) run(ctx context.Context, e Entry, alone bool) error {
	o := Outcome{Unsupported: e.Lacks}
	if o.Unsupported == "" {
		m.mu.Lock()
		o = m.lacks[e.SDK]
		m.mu.Unlock()
	}
	o.Entry, o.Alone = e, alone
	var cell *Cell
	if o.Unsupported == "" && o.Error == "" {
		m.tell(Event{Begins: &e})
		began := time.Now()
		runID, err := m.work.Run(ctx, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		o.DurationS = time.Since(began).Seconds()
		if o.RunID = runID; err == nil {
			c, readErr := m.work.Read(runID)
			cell, err = &c, readErr
		}
		if err != nil {
			o.RunID, o.Error, cell = "", err.Error(), nil
		}
	}
	return m.keep(o, cell)
}

func (m *Matrix) keep(o Outcome, cell *Cell) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.store.add(o); err != nil {
		return err
	}
	if cell != nil {
		m.cells[o.RunID] = *cell
		if cell.Starved() {
			m.jobs = max(m.jobs-1, 1)
		}
	}
	m.tellLocked(Event{Ends: &o, Cell: cell})
	return m.work.Save(m.document(false))
}

func (m *Matrix) tell(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tellLocked(e)
}

func (m *Matrix) tellLocked(e Event) {
	all := slices.Concat(m.store.Plan.Entries, m.extra)
	e.Of = len(all)
	for _, entry := range all {
		if _, done := m.store.outcome(entry); done {
			e.Done++
		}
	}
	m.work.Tell(e)
}

func (m *Matrix) save(ended bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.store.Ended = ended
	return m.work.Save(m.document(ended))
}
