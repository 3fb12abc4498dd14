package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// A mutation makes the history that a canary sees: the recorded one with one
// defect. It changes copies, never a batch it was given.
type mutation struct {
	apply func(*history.Batch) *history.Batch // nil: nothing
	end   func() []history.Event              // rows to add behind the last; nil: none
	did   string                              // what was done, "" while nothing was
	idle  string                              // why, if nothing was to be done
}

func (m *mutation) batch(b *history.Batch) *history.Batch {
	if m.apply == nil {
		return b
	}
	return m.apply(b)
}

// without is a batch without those deliveries that drop names; where there are
// none it is the batch itself.
func without(b *history.Batch, from []delivery, drop func(delivery) bool) *history.Batch {
	if !slices.ContainsFunc(from, drop) {
		return b
	}
	gone := make([]bool, b.N)
	for _, d := range from {
		gone[d.i] = drop(d)
	}
	var kept []history.Event
	for i := range b.N {
		if !gone[i] {
			kept = append(kept, b.Event(i))
		}
	}
	return batchOf(kept)
}

// with is a batch with a row inserted behind row i.
func with(b *history.Batch, i int, e history.Event) *history.Batch {
	rows := make([]history.Event, 0, b.N+1)
	for j := range b.N {
		rows = append(rows, b.Event(j))
		if j == i {
			rows = append(rows, e)
		}
	}
	return batchOf(rows)
}

// batchOf keeps the indices as they are, also a first one of 0.
func batchOf(rows []history.Event) *history.Batch {
	b := history.BatchOf(nil, rows)
	for i := range rows {
		b.Index[i] = rows[i].Index
	}
	return b
}

// reflagged is a batch with other flags in one row.
func reflagged(b *history.Batch, i int, f history.Flags) *history.Batch {
	c := *b
	c.Flags = slices.Clone(b.Flags[:b.N])
	c.Flags[i] = f
	return &c
}

// renumbered is a batch with other sequence numbers in two rows.
func renumbered(b *history.Batch, i int, a int64, j int, z int64) *history.Batch {
	c := *b
	c.Seq = slices.Clone(b.Seq[:b.N])
	c.Seq[i], c.Seq[j] = a, z
	return &c
}

// exchanged lets two rows say each other's message, with the id that it has.
func exchanged(b *history.Batch, i, j int) *history.Batch {
	c := renumbered(b, i, b.Seq[j], j, b.Seq[i])
	c.ID = slices.Clone(b.ID[:b.N])
	c.ID[i], c.ID[j] = b.ID[j], b.ID[i]
	return c
}
