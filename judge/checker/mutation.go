package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// A mutation makes the history that a canary sees: the recorded one with one
// defect. It changes copies, never a batch it was given.
type mutation struct {
	apply func(*history.Batch) *history.Batch // nil: nothing
	end   func() []history.Event              // rows to add behind the last; nil: none
	did   string                              // the change made, "" before it
	idle  string                              // why, if nothing was to be done
}

func (m *mutation) batch(b *history.Batch) *history.Batch {
	if m.apply == nil {
		return b
	}
	return m.apply(b)
}

// dropping drops the packets that match. It leaves the other packets and the rows of control:
// checkers of packets see no others. Did is what it then did, and idle why nothing matched.
func dropping(ctx Context, idle, did string, match func(*packet) bool) *mutation {
	m := &mutation{idle: idle}
	m.apply = func(b *history.Batch) *history.Batch {
		rows := ctx.ledger.rows(b)
		packets, kept, left := rows.packets, make([]bool, b.N), 0
		for i := range packets {
			if p := &packets[i]; !match(p) {
				kept[p.i] = true
				left++
			}
		}
		if left == len(packets) {
			return b
		}
		for _, i := range rows.control {
			kept[i] = true
		}
		m.did = did
		return picked(b, func(i int) bool { return kept[i] })
	}
	return m
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
	return picked(b, func(i int) bool { return !gone[i] })
}

// picked is a batch of the rows to keep, itself where that is all of them.
func picked(b *history.Batch, keep func(i int) bool) *history.Batch {
	kept := make([]int, 0, b.N)
	for i := range b.N {
		if keep(i) {
			kept = append(kept, i)
		}
	}
	if len(kept) == b.N {
		return b
	}
	return b.Pick(kept)
}

// with is a batch with a row inserted behind row i.
func with(b *history.Batch, i int, e history.Event) *history.Batch {
	rows := make([]int, b.N+1)
	for j := range rows {
		rows[j] = j
		if j > i {
			rows[j]--
		}
	}
	out := b.Pick(rows)
	out.Set(i+1, e)
	return out
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

// failing is a batch in which the call of one return failed.
func failing(b *history.Batch, i int) *history.Batch {
	c := *b
	c.Outcome = slices.Clone(b.Outcome[:b.N])
	c.Outcome[i] = history.Fail
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

// uncalled adds a row like the first that is found, about a message that nobody
// called.
func uncalled(l *ledger, idle string, find func(*history.Batch) int, did func(history.Event) string) *mutation {
	var like *history.Event
	m := &mutation{idle: idle}
	m.apply = func(b *history.Batch) *history.Batch {
		if like == nil {
			if i := find(b); i >= 0 {
				e := b.Event(i)
				like = &e
			}
		}
		return b
	}
	m.end = func() []history.Event {
		if like == nil {
			return nil
		}
		e := *like
		e.Seq, e.Flags = l.sends.streams[e.Stream].messages.n, 0
		m.did = did(e)
		return []history.Event{e}
	}
	return m
}

// showing adds an observation of the first node, of value 1, at the end.
func showing(ctx Context, what, did string) *mutation {
	m := &mutation{idle: "no node is known"}
	m.end = func() []history.Event {
		if len(ctx.Tables.Nodes) == 0 {
			return nil
		}
		m.did = sentence(did, ctx.Tables.Nodes[0].Name)
		return []history.Event{{
			Index: history.None, Call: history.None, Process: history.None, Conn: history.None, Kind: history.KindObserve,
			Stream: history.None, Seq: history.None, ID: history.None, Value: 1, Text: what,
		}}
	}
	return m
}

// oneRow changes the batch that has the first delivery which change accepts.
func oneRow(idle string, change func(b *history.Batch, d delivery) (*history.Batch, string), l *ledger) *mutation {
	m := &mutation{idle: idle}
	m.apply = func(b *history.Batch) *history.Batch {
		if m.did != "" {
			return b
		}
		for _, d := range l.rows(b).delivered {
			if d.pair < 0 {
				continue
			}
			if changed, did := change(b, d); changed != nil {
				m.did = did
				return changed
			}
		}
		return b
	}
	return m
}

// onePacket changes the batch that has the first packet which change accepts.
func onePacket(l *ledger, idle string, change func(b *history.Batch, p *packet) (*history.Batch, string)) *mutation {
	m := &mutation{idle: idle}
	m.apply = func(b *history.Batch) *history.Batch {
		if m.did != "" {
			return b
		}
		packets := l.rows(b).packets
		for i := range packets {
			if changed, did := change(b, &packets[i]); changed != nil {
				m.did = did
				return changed
			}
		}
		return b
	}
	return m
}
