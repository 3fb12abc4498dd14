package checker

import (
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSharedOneMember = Entry{
	Claim: verdict.Claim{Name: "shared-one-member", Severity: verdict.P2, Gated: true,
		Text:   "Each message that matches a shared subscription is sent to one of its members only.",
		Source: "MQTT 5.0 section 4.8.2; with MQTT 3.1.1 an extension of the broker's"},
	Category: Idempotency, Checker: "onemember@2", Protocols: mqtt, Rests: history.PromiseSharing, New: newOneMember, canary: giveAll,
}

// oneMember judges that a message goes to one member of each shared
// subscription, in quiet times alone: where a member's connection is lost, what
// it did not acknowledge may go to another, and its client may have had it.
type oneMember struct {
	ledger *ledger
	had    map[[2]int32]*taken // by group and stream
	rivals []rival
}

// taken is, of each message, the member that had it first, and the row.
type taken struct{ process, row marks }

// A rival is a delivery to another member than the first.
type rival struct {
	group, stream  int32
	one, other     int32 // processes: the first, and this one
	seq            int64
	row, index, at int64 // of the first delivery; of this one, and its time
}

// parting is how long a client may take to record the loss of its connection, which the
// broker noticed before.
const parting = 5 * second

func newOneMember(ctx Context) Checker {
	return &oneMember{ledger: ctx.ledger, had: map[[2]int32]*taken{}}
}

func (c *oneMember) fork() Checker {
	f := &oneMember{ledger: c.ledger, had: map[[2]int32]*taken{}, rivals: slices.Clone(c.rivals)}
	for key, t := range c.had {
		f.had[key] = &taken{t.process.fork(), t.row.fork()}
	}
	return f
}

func (c *oneMember) Add(b *history.Batch) {
	l := c.ledger
	for _, d := range l.rows(b).delivered {
		if d.pair < 0 || l.route.pairs[d.pair].group < 0 || d.flags&(history.FlagRetain|history.FlagCorrupt) != 0 {
			continue
		}
		key := [2]int32{l.route.pairs[d.pair].group, b.Stream[d.i]}
		t := c.had[key]
		if t == nil {
			t = &taken{}
			c.had[key] = t
		}
		p := b.Process[d.i]
		one := t.process.swap(d.seq, int64(p), false)
		row := t.row.swap(d.seq, b.Index[d.i], false)
		if one >= 0 && one != int64(p) && len(c.rivals) < 1<<20 {
			c.rivals = append(c.rivals, rival{key[0], key[1], int32(one), p, d.seq, row, b.Index[d.i], b.Time[d.i]})
		}
	}
}

func (c *oneMember) Result(*closing) verdict.Result {
	var found findings
	var judged, excused int64
	l := c.ledger
	for g := range l.route.groups {
		for s := range l.tables.Streams {
			if t := c.had[[2]int32{int32(g), int32(s)}]; t != nil {
				l.sends.streams[s].messages.each(func(seq int64, m *message) bool {
					if t.process.has(seq) && l.quietFor(int32(g), int32(s), m, m.acked) {
						judged++
					}
					return true
				})
			}
		}
	}
	for _, r := range c.rivals {
		m := l.sends.find(r.stream, r.seq)
		if m == nil || !l.quietFor(r.group, r.stream, m, r.at) || l.wire.resent(r.stream, r.seq) {
			excused++
			continue
		}
		a := verdict.Anomaly{Kind: "duplicated", Process: r.other, Stream: r.stream, Seq: r.seq, TimeNS: r.at, Events: events(m.call.index(), m.ret.index(), r.row, r.index)}
		a.Text = sentence("%s reached %s and, at %s, %s, both members of %s", l.message(r.stream, r.seq), l.process(r.one), clock(r.at), l.process(r.other), l.route.groups[r.group].filter)
		if l.wire.heard(r.one) {
			l.accuse(&a, l.wire.bothBy(r))
		}
		found.add(a)
	}
	r := found.judged(judged, map[string]int64{"judged": judged, "duplicated": found.total, "excused": excused},
		"no message was delivered to a shared subscription while its members stayed and no fault was in place")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("each of %d messages that were sent in quiet times reached one member of its group alone; %d others reached more", judged, excused)
	case verdict.Fail:
		r.Summary = summary("%d of %d messages that were sent in quiet times reached two members of a group, the first: %s", found.total, judged, r.Anomalies[0].Text)
	}
	return r
}

// quietFor reports whether nothing excuses that a message goes to two members of
// a group: from when it was called until a time all members were subscribed and
// connected, and did not part shortly after; no fault was in place; neither the host nor a driver
// stood still; and its producer sent it on one connection.
func (l *ledger) quietFor(g, stream int32, m *message, until int64) bool {
	producer := l.tables.Streams[stream].Producer
	if m.outcome != history.OK || m.flags&msgMove != 0 || uint32(producer) >= uint32(len(l.sessions.of)) {
		return false
	}
	until = max(until, m.acked)
	members := l.members(g)
	return len(l.only(g, stream)) > 1 && l.sessions.of[producer].stays(m.called, m.acked) && !l.disturbed(m.called, until) && l.still(m.called, until) < 0 &&
		!slices.ContainsFunc(members, func(p int32) bool {
			session := &l.sessions.of[p]
			return session.subscribedAt(l.route.groups[g].filter) > m.called || !session.stays(m.called, until+parting)
		})
}

// only are the members of a group that have a stream by no other subscription.
func (l *ledger) only(g, stream int32) []int32 {
	return slices.DeleteFunc(l.members(g), func(p int32) bool { return l.route.get(p, stream).group != g })
}

// resent reports whether a producer's client sent a message again in one
// exchange, which a broker may take for another.
func (w *wire) resent(stream int32, seq int64) bool {
	from := w.from(stream, seq)
	return from != nil && from.n > 1 && from.anew() == 1
}

// bothBy says who gave a message to two members of a group.
func (w *wire) bothBy(r rival) shown {
	from, one, other := w.from(r.stream, r.seq), w.to(r.one, r.stream, r.seq), w.to(r.other, r.stream, r.seq)
	switch {
	case from == nil:
		return undecided(noPublish)
	case from.anew() > 1:
		return bySDK("that its producer's client published it more than once", int64(from.first))
	case one == nil || other == nil:
		return bySDK("that the broker sent it to one of them")
	}
	return byBroker("that its producer's client published it once, and the broker sent it to both", int64(from.first), int64(one.first), int64(other.first))
}

// has reports whether a message has a number.
func (m *marks) has(seq int64) bool {
	return uint64(seq) < uint64(len(m.list)) && m.list[seq] != 0
}

// giveAll delivers one message of quiet times to every member of a group.
func giveAll(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "no message was sent to a shared subscription in quiet times"}
	m.end = func() (rows []history.Event) {
		for g := range l.route.groups {
			for s, row := range l.tables.Streams {
				if !history.Matches(l.route.groups[g].filter, row.Topic) {
					continue
				}
				l.sends.streams[s].messages.each(func(seq int64, sent *message) bool {
					if !l.quietFor(int32(g), int32(s), sent, sent.acked) || l.wire.resent(int32(s), seq) {
						return true
					}
					m.did = sentence("delivered %s to all members of %s", l.message(int32(s), seq), l.route.groups[g].filter)
					rows = l.toMembers(int32(g), int32(s), seq, sent)
					return false
				})
				if len(rows) > 0 {
					return rows
				}
			}
		}
		return nil
	}
	return m
}

// toMembers are deliveries of a message to all members of a group.
func (l *ledger) toMembers(g, stream int32, seq int64, m *message) (rows []history.Event) {
	for _, p := range l.only(g, stream) {
		rows = append(rows, history.Event{
			Index: history.None, Call: history.None, Time: time.Duration(m.acked), Process: p, Kind: history.KindDeliver,
			Stream: stream, Seq: seq, ID: history.None, Node: history.None, QoS: l.tables.Streams[stream].QoS,
		})
	}
	return rows
}
