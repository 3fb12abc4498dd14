package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/verdict"
)

// onePacket changes the batch that has the first packet which change accepts.
func onePacket(l *ledger, idle string, change func(b *history.Batch, p *packet) (*history.Batch, string)) *mutation {
	m := &mutation{idle: idle}
	m.apply = func(b *history.Batch) *history.Batch {
		if m.did != "" {
			return b
		}
		for _, i := range l.rows(b).packets {
			p := packetOf(b, int(i))
			if changed, did := change(b, &p); changed != nil {
				m.did = did
				return changed
			}
		}
		return b
	}
	return m
}

// strip sends one PUBLISH again, without DUP.
func strip(of verdict.Party) func(Context) *mutation {
	side, name := who(of)
	return func(ctx Context) *mutation {
		l := ctx.ledger
		return onePacket(l, "the "+name+" sent no PUBLISH of QoS 1 or 2", func(b *history.Batch, p *packet) (*history.Batch, string) {
			if p.kind != publishPacket || p.sender() != side || p.id < 0 || p.stream < 0 || p.flags.Has(history.FlagRetain) || side == 1 && !l.single(p.process, p.stream) {
				return nil, ""
			}
			e := b.Event(p.i)
			e.Flags &^= history.FlagDup
			return with(b, p.i, e), sentence("had %s sent again by the %s without DUP", l.message(p.stream, p.seq), name)
		})
	}
}

// rekindle sends one PUBLISH again after its PUBREL.
func rekindle(of verdict.Party) func(Context) *mutation {
	side, name := who(of)
	return func(ctx Context) *mutation {
		l := ctx.ledger
		return onePacket(l, "the "+name+" sent no PUBREL", func(b *history.Batch, p *packet) (*history.Batch, string) {
			if p.kind != pubrelPacket || p.sender() != side || p.stream < 0 || side == 1 && !l.single(p.process, p.stream) {
				return nil, ""
			}
			e := b.Event(p.i)
			e.Text, e.QoS = history.PacketPublish, 2
			e.Flags |= history.FlagDup
			return with(b, p.i, e), sentence("had %s sent again by the %s after its PUBREL", l.message(p.stream, p.seq), name)
		})
	}
}

// misanswer gives one PUBACK or PUBREC of the broker a packet id that nobody
// used.
func misanswer(ctx Context) *mutation {
	l := ctx.ledger
	used := map[int64]bool{}
	return onePacket(l, "the broker answered nothing", func(b *history.Batch, p *packet) (*history.Batch, string) {
		used[p.id] = true
		if !p.toClient || p.kind != pubackPacket && p.kind != pubrecPacket {
			return nil, ""
		}
		e := b.Event(p.i)
		for e.ID = 1; used[e.ID]; e.ID++ {
		}
		e.Stream, e.Seq = history.None, history.None
		return with(b, p.i, e), sentence("had the broker answer packet id %d, which nobody used", e.ID)
	})
}

// disorder lets two answers of one client, one behind the other, change places.
func disorder(ctx Context) *mutation {
	l := ctx.ledger
	var last *packet
	return onePacket(l, "no client answered two PUBLISHes of one QoS shortly after one another", func(b *history.Batch, p *packet) (*history.Batch, string) {
		if p.toClient || p.kind != pubackPacket && p.kind != pubrecPacket {
			return nil, ""
		}
		before := last
		copied := *p
		last = &copied
		// A reader fills one batch again and again: only its rows say which it is.
		if before == nil || before.row < b.Index[0] || before.process != p.process || before.conn != p.conn || before.kind != p.kind || before.id == p.id || !l.bothSent(before, p) {
			return nil, ""
		}
		c := *b
		c.ID = slices.Clone(b.ID[:b.N])
		c.ID[before.i], c.ID[p.i] = p.id, before.id
		return &c, sentence("swapped the answers of %s to packet ids %d and %d", l.process(p.process), before.id, p.id)
	})
}

// bothSent reports whether both messages that are answered had been sent before
// the first answer, once each: only then have the answers an order.
func (l *ledger) bothSent(first, second *packet) bool {
	for _, p := range []*packet{first, second} {
		if f := l.wire.to(p.process, p.stream, p.seq); f == nil || f.n != 1 || f.conn != p.conn || int64(f.first) > first.row {
			return false
		}
	}
	return true
}

// boast has a publish called done that was never sent.
func boast(ctx Context) *mutation {
	l := ctx.ledger
	first := func(b *history.Batch) int {
		list := l.rows(b).published
		done := func(i int32) bool { return b.Edge[i] == history.Return && b.Outcome[i] == history.OK && b.QoS[i] > 0 }
		if i := slices.IndexFunc(list, done); i >= 0 {
			return int(list[i])
		}
		return -1
	}
	return uncalled(l, "no publish of QoS 1 or 2 was called done", first, func(e history.Event) string {
		return sentence("called %s done, which was never sent", l.message(e.Stream, e.Seq))
	})
}
