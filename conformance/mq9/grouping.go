package mq9

import (
	"fmt"
	"slices"
)

const (
	citeOffset  = "protocol.md#offset-behavior-for-stateful-consumption-group_name-provided"
	citeCompete = "faq.md#how-do-multiple-workers-compete-to-consume-the-same-mailbox"
)

// grouping is FETCH with a group, which has an offset.
func grouping() []entry {
	return []entry{
		{"group/begins", citeOffset, must, "a group that has no offset begins where deliver says", groupBegins},
		{"group/resumes", citeOffset, must, "a group goes on behind what it acknowledged", resumes},
		{"group/unacknowledged", citeConcepts, must, "a message that was not acknowledged comes again", unacknowledged},
		{"group/deliver", citeOffset, must, "deliver has no effect where there is an offset", deliverIgnored},
		{"group/force-earliest", citeOffset, must, "with force_deliver a group begins anew, with the oldest message", forceEarliest},
		{"group/force-latest", citeOffset, must, "with force_deliver and latest a group leaves out what is there", forceLatest},
		{"group/force-from-id", citeOffset, must, "with force_deliver and from_id a group goes on with that message", forceFromID},
		{"group/others", citeFetchRequest, must, "each group has its own offset, whatever their names have in common", otherGroups},
		{"group/mailboxes", citeOffset, must, "a group has an offset in each mailbox, and none in one that it did not read", groupMailboxes},
		{"group/reconnect", citeConcepts, must, "the offset is kept when the reader connects anew", groupReconnects},
		{"group/nodes", citeCompete, must, "the members of a group share one offset, whichever node they are at", groupNodes},
		{"group/workers", citeCompete, must, "of workers that fetch and acknowledge in turn, each message comes to one", workers},
		{"group/workers-at-once", citeCompete, should, "of workers that fetch at the same time, each message comes to one", workersAtOnce},
		{"group/latest-goes-on", citeDeliver, should, "a group that began with latest reads everything that comes later", latestGoesOn},
	}
}

func groupBegins(x *exam) {
	at := x.create("a")
	ids := x.sendAll(at, "m1", "m2", "m3")
	x.fetches("earliest", at, x.group("e"), "m1", "m2", "m3")
	x.fetches("from the second one on", at, []any{"group_name", x.own("i"), "deliver", "from_id", "from_id", ids[1]}, "m2", "m3")
	notOld(x, "a group that begins with latest", x.fetch(at, "group_name", x.own("l")), "m3")
}

// reads fetches for a group, compares, and acknowledges the last one.
func (x *exam) reads(at, name string, want ...string) {
	got := x.fetches("of the group "+name, at, x.group(name, "config", most(len(want))), want...)
	x.ack(at, name, got[len(got)-1].ID)
}

// notOld is that latest shows nothing that was there before, but for the last message:
// one sentence of the page is of new messages alone, an example begins with the latest.
func notOld(x *exam, who string, got []mail, last string) []mail {
	if len(got) > 1 || len(got) == 1 && got[0].Payload != last {
		x.Violates("%s is shown %s, which was there before", who, list(payloadsOf(got)))
	}
	return got
}

func resumes(x *exam) {
	at := x.create("a")
	x.sendAll(at, numbered(6)...)
	x.fetches("sent", at, earliest, numbered(6)...)
	x.reads(at, "g", "m0", "m1")
	x.reads(at, "g", "m2")
	x.reads(at, "g", "m3", "m4", "m5")
	x.fetches("everything was acknowledged", at, x.group("g"))
	x.send(at, "m6")
	x.fetches("new behind what was acknowledged", at, x.group("g"), "m6")
}

func unacknowledged(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2")
	x.fetches("sent", at, x.group("g"), "m1", "m2")
	for range 3 {
		x.are("nothing was acknowledged", x.fetch(at, x.group("g")...), "m1", "m2")
	}
}

func deliverIgnored(x *exam) {
	at := x.create("a")
	ids := x.sendAll(at, "m1", "m2", "m3")
	x.fetches("sent", at, earliest, "m1", "m2", "m3")
	x.reads(at, "g", "m1")
	for _, deliver := range [][]any{{"latest"}, {"earliest"}, {"from_id", "from_id", ids[2]}} {
		x.fetches("behind what was acknowledged, whatever deliver says", at, append([]any{"group_name", x.own("g"), "deliver"}, deliver...), "m2", "m3")
	}
}

func forceEarliest(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2", "m3")
	x.fetches("sent", at, earliest, "m1", "m2", "m3")
	x.reads(at, "g", "m1", "m2")
	x.fetches("from the oldest one on", at, x.group("g", "force_deliver", true), "m1", "m2", "m3")
}

func forceLatest(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2", "m3")
	x.fetches("sent", at, earliest, "m1", "m2", "m3")
	x.reads(at, "g", "m1")
	notOld(x, "a group that is forced to latest", x.fetch(at, "group_name", x.own("g"), "deliver", "latest", "force_deliver", true), "m3")
}

func forceFromID(x *exam) {
	at := x.create("a")
	ids := x.sendAll(at, "m1", "m2", "m3", "m4")
	x.fetches("sent", at, earliest, "m1", "m2", "m3", "m4")
	x.reads(at, "g", "m1", "m2", "m3", "m4")
	x.fetches("from the second one on", at, []any{"group_name", x.own("g"), "deliver", "from_id", "from_id", ids[1], "force_deliver", true}, "m2", "m3", "m4")
}

func otherGroups(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2")
	x.fetches("sent", at, earliest, "m1", "m2")
	x.reads(at, "g", "m1", "m2")
	for _, name := range []string{"h", "g-normal", "g.normal", "g1", "G"} {
		x.fetches(fmt.Sprintf("of the group %q, which acknowledged nothing", name), at, x.group(name), "m1", "m2")
	}
	x.fetches("of the group that acknowledged all", at, x.group("g"))
}

func groupMailboxes(x *exam) {
	first, second := x.create("a"), x.create("b")
	x.sendAll(first, "a1", "a2", "a3")
	x.sendAll(second, "b1", "b2", "b3")
	x.fetches("sent", first, earliest, "a1", "a2", "a3")
	x.reads(first, "g", "a1", "a2", "a3")
	x.fetches("of a mailbox that the group did not read", second, x.group("g"), "b1", "b2", "b3")
	x.reads(second, "g", "b1")
	x.fetches("of the first mailbox, all being acknowledged", first, x.group("g"))
	x.fetches("of the second mailbox, one being acknowledged", second, x.group("g"), "b2", "b3")
}

func groupReconnects(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2", "m3")
	x.fetches("sent", at, earliest, "m1", "m2", "m3")
	x.reads(at, "g", "m1", "m2")
	x.in().drop()
	x.reader = nil
	x.fetches("after the reader connected anew", at, x.group("g"), "m3")
}

func groupNodes(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2", "m3")
	x.fetches("sent", at, earliest, "m1", "m2", "m3")
	x.reads(at, "g", "m1", "m2")
	x.shows("at the other node", func() []mail { return x.out().fetch(at, x.group("g")...) }, "m3")
}

func workers(x *exam) {
	const n = 12
	at := x.create("a")
	x.sendAll(at, numbered(n)...)
	x.fetches("sent", at, earliest, numbered(n)...)
	team := []*client{x.out(), x.in(), x.dial("third", x.to)}
	var got []string
	x.eventually(fmt.Sprintf("three workers take turns, and do not read all %d messages", n), func() bool {
		for _, c := range team {
			for _, m := range c.fetch(at, x.group("g", "config", most(2))...) {
				got = append(got, m.Payload)
				c.ack(at, "g", m.ID)
			}
		}
		return len(got) >= n
	})
	x.fetches("everything was acknowledged", at, x.group("g"))
	x.listed("three workers took turns", got, numbered(n))
}

func workersAtOnce(x *exam) {
	const n = 8
	at := x.create("a")
	x.sendAll(at, numbered(n)...)
	x.fetches("sent", at, earliest, numbered(n)...)
	var calls []call
	for _, c := range []*client{x.in(), x.dial("second", x.to), x.dial("third", x.from)} {
		calls = append(calls, c.request(subjectFetch+at, x.body(x.group("g", "config", most(2))...)))
	}
	var got []string
	var refused []reply
	for _, k := range calls {
		r := k.reply()
		if r.failed() {
			refused = append(refused, r)
		}
		got = append(got, payloadsOf(x.mails(r))...)
	}
	slices.Sort(got)
	if len(slices.Compact(slices.Clone(got))) < len(got) {
		x.Violates("three workers fetched two messages each, and none was acknowledged: together they have %s", list(got))
	}
	if len(refused) > 0 {
		x.Undecided("%s is answered by %s to %d of three workers, which might have been given the same messages", refused[0].subject, refused[0], len(refused))
	}
}

func latestGoesOn(x *exam) {
	at := x.create("a")
	x.send(at, "old")
	x.fetches("sent", at, earliest, "old")
	for _, m := range notOld(x, "a group that begins with latest", x.fetch(at, "group_name", x.own("g")), "old") {
		x.ack(at, "g", m.ID)
	}
	x.sendAll(at, "m1", "m2")
	x.fetches("came after the group began with latest", at, []any{"group_name", x.own("g")}, "m1", "m2")
}
