package history

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"
)

// BatchOf makes a batch of events in memory, for tests and for the mutated
// copies of canaries. Events keep their Index, so that a copy in which one is
// missing still names the others; an Index of 0 behind the first place, as in
// a literal, becomes the place. Everything else is taken as it is, Call
// included. The tables are those that the events' numbers refer to; they may
// be nil, and are not looked at.
func BatchOf(_ *Tables, events []Event) *Batch {
	n := len(events)
	b := &Batch{
		N:       n,
		Index:   make([]int64, n),
		Call:    make([]int64, n),
		Time:    make([]int64, n),
		Process: make([]int32, n),
		Conn:    make([]int32, n),
		Kind:    make([]Kind, n),
		Edge:    make([]Edge, n),
		Via:     make([]Source, n),
		Outcome: make([]Outcome, n),
		Reason:  make([]uint8, n),
		QoS:     make([]uint8, n),
		Flags:   make([]Flags, n),
		Node:    make([]int16, n),
		Stream:  make([]int32, n),
		Seq:     make([]int64, n),
		ID:      make([]int64, n),
		Value:   make([]float64, n),
	}
	texts := make([]string, n)
	b.Text = func(i int) string { return texts[i] }
	for i, e := range events {
		b.set(i, e)
		texts[i] = e.Text
		if e.Index == 0 {
			b.Index[i] = int64(i)
		}
	}
	return b
}

func (b *Batch) set(i int, e Event) {
	b.Index[i] = e.Index
	b.Call[i] = e.Call
	b.Time[i] = int64(e.Time)
	b.Process[i] = e.Process
	b.Conn[i] = e.Conn
	b.Kind[i] = e.Kind
	b.Edge[i] = e.Edge
	b.Via[i] = e.Via
	b.Outcome[i] = e.Outcome
	b.Reason[i] = e.Reason
	b.QoS[i] = e.QoS
	b.Flags[i] = e.Flags
	b.Node[i] = e.Node
	b.Stream[i] = e.Stream
	b.Seq[i] = e.Seq
	b.ID[i] = e.ID
	b.Value[i] = e.Value
}

// Event is row i of the batch, counted from 0 in it.
func (b *Batch) Event(i int) Event {
	return Event{
		Index:   b.Index[i],
		Call:    b.Call[i],
		Time:    time.Duration(b.Time[i]),
		Process: b.Process[i],
		Conn:    b.Conn[i],
		Kind:    b.Kind[i],
		Edge:    b.Edge[i],
		Via:     b.Via[i],
		Outcome: b.Outcome[i],
		Reason:  b.Reason[i],
		QoS:     b.QoS[i],
		Flags:   b.Flags[i],
		Node:    b.Node[i],
		Stream:  b.Stream[i],
		Seq:     b.Seq[i],
		ID:      b.ID[i],
		Value:   b.Value[i],
		Text:    b.Text(i),
	}
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

// Record adds an event and answers its index.
func (m *Memory) Record(e Event) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.Index = int64(len(m.events))
	m.events = append(m.events, e)
	close(m.changed)
	m.changed = make(chan struct{})
	return e.Index
}

// Tables are those that it was made with.
func (m *Memory) Tables() Tables { return m.tables }

// Events are all that were recorded so far.
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

// Wait waits until n events match, or ctx ends, and answers how many do.
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
