package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

var claimSharedNoLoss = Entry{
	Claim: verdict.Claim{Name: "shared-no-loss", Severity: verdict.P0, Gated: true,
		Text:   "A message acknowledged at QoS 1 or 2 reaches a member of each matching shared subscription: if the member's connection ends before it acknowledged the message, the broker sends it again when that member comes back, or to another member.",
		Source: "MQTT 5.0 section 4.8.2 [MQTT-4.8.2-5], sections 4.3.2 and 4.3.3; with MQTT 3.1.1 an extension of the broker's"},
	Category: Durability, Checker: "sharedloss@11", Protocols: mqtt, Rests: history.PromiseHandover, New: newSharedLoss, NeedsComplete: true, canary: loseShared,
	Unjudged: oneCopy,
	Notice:   Notice{"acknowledged messages that reached no member of a shared subscription", "mqtt/shared-subscription"},
}

var claimMQ9WorkersNoLoss = Entry{
	Claim: verdict.Claim{Name: "mq9-workers-no-loss", Severity: verdict.P0, Gated: true,
		Text:   "Messages persist until they are fetched or their time is over: one that was answered with its id is picked up by a worker of each group, whichever workers join or leave.",
		Source: "mq9 protocol.md, MSG.SEND and MSG.FETCH; website/docs/faq.md, How do multiple workers compete to consume the same mailbox?"},
	Category: Durability, Checker: "sharedloss@11", Protocols: mq9, Rests: history.PromiseMailboxes, New: newSharedLoss, NeedsComplete: true, canary: loseShared,
	Unjudged: oneCopy,
	Notice:   Notice{"acknowledged messages that reached no worker of a group", "mq9/workers"},
}

// sharedLoss judges that acknowledged messages reach a member of each shared
// subscription. It judges every message of QoS 1 and 2 that the broker acknowledged, if
// it was called after a member's subscription was acknowledged. The message may wait in
// the session of the member that the broker chose, or go to another one. A missing
// message is not lost while any member has not drained.
type sharedLoss struct {
	ledger *ledger
	got    *receipts
}

func newSharedLoss(ctx Context) Checker { return &sharedLoss{ctx.ledger, ctx.receipts} }

func (c *sharedLoss) fork() Checker { return &sharedLoss{c.ledger, c.got.fork()} }

func (c *sharedLoss) Add(b *history.Batch) { c.got.addOwn(b) }

func (c *sharedLoss) Result(end *closing) verdict.Result {
	var found findings
	var excused missCounts
	var due int64
	var why []string
	l := c.ledger
	l.shares(func(g, s int32, from int64) {
		st := &l.sends.streams[s]
		due += st.acked.countFrom(st.since(from))
		if reason := end.unshared[[2]int32{g, s}]; reason != "" {
			why = append(why, reason)
		}
	})
	c.misses(end, func(m miss) {
		excused[m.why]++
		if m.lost() {
			found.add(c.lost(m))
		}
	})
	due -= excused.weighing(unowed, ofLosses)
	session, waiting := excused[forgotten], excused[inFlight]
	r := found.judged(due, map[string]int64{
		"due": due, "lost": found.total, "lost_session": session, "lost_message": excused[none], "waiting": waiting,
	}, "no acknowledged message was due to a group of subscribers that all keep their sessions")
	switch r.Status {
	case verdict.Pass:
		r.Summary = summary("each of %d acknowledged messages reached a member of its group", due)
	case verdict.Fail:
		r.Summary = summary("%d of %d acknowledged messages reached no member of a group (%d with a session), the first: %s", found.total, due, session, r.Anomalies[0].Text)
	}
	excused.excuse(&r, ofLosses, l.queues)
	switch {
	case r.Status == verdict.Pass && len(why) > 0:
		r.Summary = summary("%d of %d acknowledged messages had not arrived when the run ended", waiting, due)
		unsure(&r, "a member had not drained when the run ended: the missing messages of its group may still have been in flight and are not counted as lost", some(why)...)
	case r.Status == verdict.Fail && c.unsupported():
		unsure(&r, "nothing at all was delivered through a shared subscription: MQTT 3.1.1 knows none, and a broker without them takes $share for a topic like any other; run it with mqtt5")
	}
	return r
}

// unsupported reports whether the broker may have no shared subscriptions: nothing came through
// any, and a member speaks a version of MQTT that has none.
func (c *sharedLoss) unsupported() bool {
	reached := false
	c.ledger.shares(func(g, s int32, _ int64) { reached = reached || len(c.got.union(c.ledger.members(g), s).words) > 0 })
	return !reached && c.ledger.older()
}

// misses calls f for each acknowledged message that no member of a group got.
func (c *sharedLoss) misses(end *closing, f func(miss)) {
	l, capacity := c.ledger, newCapacity(c.ledger)
	l.shares(func(g, s int32, from int64) {
		st, members, waits := &l.sends.streams[s], l.members(g), end.unshared[[2]int32{g, s}] != ""
		st.acked.each(st.since(from), c.got.union(members, s), func(seq int64) {
			f(miss{members, g, s, seq, capacity.why(s, seq, waits, members...)})
		})
	})
}

// older reports whether any member of a shared subscription speaks a version of
// MQTT that has none.
func (l *ledger) older() bool {
	return slices.ContainsFunc(l.route.groups, func(g group) bool {
		return slices.ContainsFunc(g.members, func(p int32) bool { return l.tables.Processes[p].Protocol == contract.MQTT3 })
	})
}

func (c *sharedLoss) lost(is miss) verdict.Anomaly {
	l, members, s, seq := c.ledger, is.members, is.stream, is.seq
	m := l.sends.find(s, seq)
	a := verdict.Anomaly{
		Kind: verdict.KindLost, Process: members[0], Stream: s, Seq: seq, TimeNS: m.acked,
		Fault: l.fault(m.acked), Events: events(m.call.index(), m.ret.index()),
	}
	why := ""
	if is.why == forgotten {
		why = "; a member's session was lost"
	}
	a.Text = sentence("%s reached no member of %s: acknowledged at %s%s%s", l.message(s, seq), l.route.groups[is.group].filter, clock(m.acked), under(a.Fault), why)
	if l.heard(members) {
		l.accuse(&a, l.wire.lostByGroup(members, s, seq))
	}
	return a
}

// heard reports whether the packets of all these processes were recorded.
func (l *ledger) heard(processes []int32) bool {
	return !slices.ContainsFunc(processes, func(p int32) bool { return !l.wire.heard(p) })
}

// lostByGroup says who lost an acknowledged message that reached no member.
func (w *wire) lostByGroup(members []int32, stream int32, seq int64) shown {
	from, why := w.owedTo(members, stream, seq)
	if from == nil {
		return why
	}
	sent := false
	for _, p := range members {
		if to := w.to(p, stream, seq); to != nil {
			if to.acked >= 0 && !to.revived {
				return bySDK("that the broker sent it, and that the client acknowledged it", int64(to.first), int64(to.acked))
			}
			sent = true
		}
	}
	rows := []int64{int64(from.first), int64(from.acked)}
	unable := slices.ContainsFunc(members, func(p int32) bool {
		client := &w.clients[p]
		subscribed, _ := client.subscribed(int64(from.acked))
		return !subscribed || client.cleanAfter(int64(from.acked)) || w.mute(p)
	})
	switch {
	case sent: // and may have ended with the connection
		return undecided("it was sent to a member, which did not acknowledge it in that session", rows...)
	case unable: // and the broker may wait for that client
		return undecided("a member was not subscribed, asked for a clean session or leaves a message unanswered", rows...)
	}
	return byBroker("that the broker acknowledged it, and never sent it to any member", rows...)
}

// loseShared drops the deliveries of one acknowledged message to all members of
// a group.
func loseShared(ctx Context) *mutation {
	l := ctx.ledger
	m := &mutation{idle: "no acknowledged message was delivered to a group of subscribers that all keep their sessions"}
	high := map[[2]int32]int64{} // by group and stream: the numbers seen so far are below it
	var group, stream int32
	var seq int64
	choose := func(b *history.Batch) {
		for _, d := range l.rows(b).delivered {
			if d.pair < 0 || l.route.pairs[d.pair].group < 0 {
				continue
			}
			g, s := l.route.pairs[d.pair].group, b.Stream[d.i]
			first := d.seq >= high[[2]int32{g, s}]
			high[[2]int32{g, s}] = max(high[[2]int32{g, s}], d.seq+1)
			if first && l.certain(s, d.seq, l.dueTo(g)) {
				group, stream, seq = g, s, d.seq
				m.did = sentence("dropped every delivery of %s to members of %s", l.message(s, seq), l.route.groups[g].filter)
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
		return without(b, l.rows(b).delivered, func(d delivery) bool {
			return d.pair >= 0 && d.seq == seq && b.Stream[d.i] == stream && l.route.pairs[d.pair].group == group
		})
	}
	return m
}
