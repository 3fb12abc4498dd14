package history

import (
	"context"
	"iter"
	"slices"
	"sync"
)

// BatchOf makes a batch of events in memory, for tests and for the mutated
// copies of canaries. Events keep their Index, so that a copy in which one is
// missing still names the others; an Index of 0 behind the first place, as in
// a literal, becomes the place. Everything else is taken as it is, Call
// included. The tables are those that the events' numbers refer to; they may
// be nil, and are not looked at.
func BatchOf(_ *Tables, events []Event) *Batch {
	b := &Batch{Index: make([]int64, len(events))}
	b.fill(events)
	texts := make([]string, len(events)) // beside each other, as in a file
	b.Text = func(i int) string { return texts[i] }
	for i, e := range events {
		texts[i] = e.Text
		if b.Index[i] = e.Index; e.Index == 0 {
			b.Index[i] = int64(i)
		}
	}
	return b
}

// fill makes the batch one of rows, but for Index. It keeps them, for their texts.
func (b *Batch) fill(rows []Event) {
	b.N = len(rows)
	for _, c := range columns {
		c.fill(b, rows)
	}
}

// Pick is a batch of some rows of this one, by their places in it. Each keeps its Index. It
// keeps rows, and the texts of this batch.
func (b *Batch) Pick(rows []int) *Batch {
	picked := &Batch{N: len(rows), Index: make([]int64, len(rows))}
	for i, row := range rows {
		picked.Index[i] = b.Index[row]
	}
	for _, c := range columns {
		c.pick(picked, b, rows)
	}
	return picked
}

// Set puts an event into a row of a batch that was picked.
func (b *Batch) Set(i int, e Event) {
	b.Index[i] = e.Index
	for _, c := range columns {
		c.set(b, i, &e)
	}
}

// Event is row i of the batch, counted from 0 in it.
func (b *Batch) Event(i int) Event {
	e := Event{Index: b.Index[i]}
	for _, c := range columns {
		c.row(b, i, &e)
	}
	return e
}

// Events goes through the rows of a batch.
func Events(b *Batch) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for i := range b.N {
			if !yield(b.Event(i)) {
				return
			}
		}
	}
}

// A Memory is a history in memory, which can be waited for.
type Memory struct {
	mu      sync.Mutex
	events  []Event
	tables  Tables
	changed chan struct{} // closed at the next event
}

// NewMemory makes an empty history with these tables.
func NewMemory(tables Tables) *Memory {
	return &Memory{tables: tables, changed: make(chan struct{})}
}

// Record adds an event and returns its index.
func (m *Memory) Record(e Event) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.Index = int64(len(m.events))
	m.events = append(m.events, e)
	close(m.changed)
	m.changed = make(chan struct{})
	return e.Index
}

// Tables returns the tables that the history was made with.
func (m *Memory) Tables() Tables { return m.tables }

// Events returns all events recorded so far.
func (m *Memory) Events() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}

// Count counts the events that match.
func (m *Memory) Count(match func(Event) bool) (n int) {
	for _, e := range m.Events() {
		if match(e) {
			n++
		}
	}
	return n
}

// Wait waits until n events match, or ctx ends, and returns how many do.
func (m *Memory) Wait(ctx context.Context, n int, match func(Event) bool) int {
	for {
		m.mu.Lock()
		changed := m.changed
		m.mu.Unlock()
		got := m.Count(match)
		if got >= n {
			return got
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return got
		}
	}
}
