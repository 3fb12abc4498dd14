package checker

import (
	"math"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// lose drops the deliveries of one acknowledged message to one process.
func lose(qos uint8) func(Context) *mutation {
	return func(ctx Context) *mutation {
		l := ctx.ledger
		m := &mutation{idle: "no acknowledged message was delivered to a persistent subscriber"}
		high := make([]int64, len(l.route.pairs))
		var pair int32
		var seq int64
		choose := func(b *history.Batch) {
			for _, d := range l.rows(b).delivered {
				if d.pair < 0 {
					continue
				}
				first := d.seq >= high[d.pair]
				high[d.pair] = max(high[d.pair], d.seq+1)
				process, stream := b.Process[d.i], b.Stream[d.i]
				if first && l.route.pairs[d.pair].sent == qos && l.owed(process, stream, d.seq) {
					pair, seq = d.pair, d.seq
					m.did = sentence("dropped every delivery of %s to %s", l.message(stream, seq), l.process(process))
					return
				}
			}
		}
		m.apply = func(b *history.Batch) *history.Batch {
			if m.did == "" {
				choose(b)
			}
			if m.did == "" {
				return b
			}
			return without(b, l.rows(b).delivered, func(d delivery) bool { return d.seq == seq && d.pair == pair })
		}
		return m
	}
}

// owed reports whether it is known already that a message must reach a process.
func (l *ledger) owed(process, stream int32, seq int64) bool {
	row := l.tables.Streams[stream]
	if row.Register || brief(row) || !l.sessions.persistent(process) || l.route.get(process, stream).lossy() || l.refusals(row.Producer) {
		return false
	}
	m := l.sends.find(stream, seq)
	return m != nil && m.outcome == history.OK && m.called >= l.sessions.due(process, row.Topic)
}

// repeat delivers one message twice: the first that the checker can judge.
func repeat(qos uint8, judges func(history.Process) bool) func(Context) *mutation {
	return func(ctx Context) *mutation {
		l := ctx.ledger
		c := newOnce(l, qos, judges)
		return oneRow("no delivery of that QoS can be judged", func(b *history.Batch, d delivery) (*history.Batch, string) {
			i := int(d.i)
			if !c.takes(b, d) {
				return nil, ""
			}
			return with(b, i, b.Event(i)), sentence("delivered %s to %s twice", l.message(b.Stream[i], b.Seq[i]), l.process(b.Process[i]))
		}, l)
	}
}

// unflag repeats a delivery on its connection without DUP.
func unflag(ctx Context) *mutation {
	l := ctx.ledger
	return oneRow("no delivery of QoS 1 can be judged", func(b *history.Batch, d delivery) (*history.Batch, string) {
		i := int(d.i)
		m := l.sends.find(b.Stream[i], b.Seq[i])
		if b.QoS[i] != 1 || !l.plain(d) || slices.Contains(l.tables.Processes[b.Process[i]].Cannot, "dup") ||
			m == nil || m.outcome != history.OK || l.sentTwice(b.Stream[i], m) || l.wire.another(b.Process[i], b.Stream[i], b.Seq[i]) {
			return nil, ""
		}
		again := b.Event(i)
		again.Flags &^= history.FlagDup
		return with(b, i, again), sentence("delivered %s to %s twice, without DUP", l.message(b.Stream[i], b.Seq[i]), l.process(b.Process[i]))
	}, l)
}

// raise delivers everything with a QoS other than its own.
func raise(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "nothing was delivered"}
	m.apply = func(b *history.Batch) *history.Batch {
		list := l.rows(b).delivered
		if len(list) == 0 {
			return b
		}
		c := *b
		c.QoS = slices.Clone(b.QoS[:b.N])
		for _, d := range list {
			c.QoS[d.i] = (b.QoS[d.i] + 1) % 3
		}
		m.did = "delivered everything with another QoS"
		return &c
	}
	return m
}

// corrupt flips the checksum of the first delivery.
func corrupt(ctx Context) *mutation {
	m := &mutation{idle: "nothing was delivered"}
	m.apply = func(b *history.Batch) *history.Batch {
		list := ctx.ledger.rows(b).delivered
		if m.did != "" || len(list) == 0 {
			return b
		}
		i := list[0].i
		m.did = sentence("corrupted the delivery in row %d", b.Index[i])
		return reflagged(b, int(i), b.Flags[i]|history.FlagCorrupt)
	}
	return m
}

// swap lets, for every pair of stream and process, two first deliveries change
// places once. Of one pair alone the two might have no known order.
func swap(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "no two messages of one stream reached one subscriber shortly after one another"}
	high := make([]int64, len(l.route.pairs))
	done := make([]bool, len(l.route.pairs))
	m.apply = func(b *history.Batch) *history.Batch {
		out, last := b, map[int32]int{} // row of the last first delivery in this batch, by pair
		for _, d := range l.rows(b).delivered {
			i := int(d.i)
			if !l.ordered(d) || done[d.pair] || d.seq < high[d.pair] {
				continue
			}
			high[d.pair] = d.seq + 1
			j, ok := last[d.pair]
			if !ok || l.requests(b.Stream[i]) && !(0 < b.ID[j] && b.ID[j] < b.ID[i]) {
				last[d.pair] = i
				continue
			}
			if m.did == "" {
				m.did = sentence("swapped numbers %d and %d of %s on their way to %s, and two of every other pair", b.Seq[j], b.Seq[i], l.topic(b.Stream[i]), l.process(b.Process[i]))
			}
			out, done[d.pair] = exchanged(out, i, j), true
		}
		return out
	}
	return m
}

// invent adds a delivery of a message that was never sent.
func invent(ctx Context) *mutation {
	l := ctx.ledger
	first := func(b *history.Batch) int {
		list := l.rows(b).delivered
		if i := slices.IndexFunc(list, func(d delivery) bool { return d.pair >= 0 }); i >= 0 {
			return int(list[i].i)
		}
		return -1
	}
	return uncalled(l, "nothing was delivered", first, func(e history.Event) string {
		return sentence("delivered %s, which was never sent, to %s", l.message(e.Stream, e.Seq), l.process(e.Process))
	})
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

// forget lets the broker know no session of a client that comes back.
func forget(ctx Context) *mutation {
	m := &mutation{idle: "no session was resumed"}
	m.apply = func(b *history.Batch) *history.Batch {
		out := b
		for _, i := range ctx.ledger.rows(b).control {
			if b.Kind[i] == history.KindConnect && b.Edge[i] == history.Return && b.Flags[i].Has(history.FlagSessionPresent) {
				out = reflagged(out, int(i), out.Flags[i]&^history.FlagSessionPresent)
				m.did = "took the session from every client that came back"
			}
		}
		return out
	}
	return m
}

// stall lets everything after the beginning of the first fault happen later,
// by more than publishers may have to wait.
func stall(ctx Context) *mutation {
	m := &mutation{idle: "no fault was in place"}
	if len(ctx.ledger.windows) == 0 {
		return m
	}
	w := ctx.ledger.windows[0]
	by := int64(ctx.Run.Budget.ProgressS*1e9) + int64(1e9)
	var times []int64 // of the batch, which lasts until the next
	m.apply = func(b *history.Batch) *history.Batch {
		if slices.Max(b.Time[:b.N]) < int64(w.Start) {
			return b
		}
		c := *b
		times = append(times[:0], b.Time[:b.N]...)
		c.Time = times
		for i, t := range c.Time {
			if t >= int64(w.Start) {
				c.Time[i] += by
			}
		}
		m.did = sentence("stood still for %s from %s on, in %s", clock(by), clock(int64(w.Start)), w.Fault)
		return &c
	}
	return m
}

// mute drops what the probes were delivered.
func mute(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "no probe was delivered anything"}
	m.apply = func(b *history.Batch) *history.Batch {
		rows := l.rows(b)
		if !rows.probed {
			return b
		}
		out := without(b, rows.delivered, func(d delivery) bool { return l.route.probed(b.Process[d.i]) })
		if out != b {
			m.did = "dropped what the probes were delivered"
		}
		return out
	}
	return m
}

// crash adds a panic to the first node's log.
func crash(ctx Context) *mutation {
	return showing(ctx, history.ObservePanic, "added a panic to the log of %s")
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

// stale lets one read of a register, after an acknowledged write, see nothing.
func stale(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "no retained message was read after an acknowledged write"}
	calls := map[int64]int64{}
	m.apply = func(b *history.Batch) *history.Batch {
		if m.did != "" {
			return b
		}
		for _, i := range l.rows(b).control {
			i := int(i)
			switch {
			case b.Kind[i] != history.KindFetch:
			case b.Edge[i] == history.Call:
				calls[b.Index[i]] = b.Time[i]
			case b.Outcome[i] == history.OK && b.Seq[i] >= 0 && b.Flags[i]&(history.FlagCorrupt|history.FlagForeign) == 0:
				called, ok := calls[b.Call[i]]
				if !ok || !l.writtenBefore(b.Stream[i], called) {
					continue
				}
				m.did = sentence("made the read in row %d see nothing", b.Index[i])
				return renumbered(b, i, history.None, i, history.None)
			}
		}
		return b
	}
	return m
}

// writtenBefore reports whether a write of the stream's topic was acknowledged
// before t.
func (l *ledger) writtenBefore(stream int32, t int64) bool {
	if uint32(stream) >= uint32(len(l.sends.streams)) {
		return false
	}
	at := int64(math.MaxInt64)
	for _, m := range l.sends.streams[stream].messages.each {
		if m.outcome == history.OK {
			at = min(at, m.acked)
		}
	}
	return at < t
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
