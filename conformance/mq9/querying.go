package mq9

import (
	"cmp"
	"slices"
)

const (
	citeQuery        = "protocol.md#mq9aimsgquerymail_address"
	citeQueryRequest = "protocol.md#query-request-fields"
	citeQueryFAQ     = "faq.md#what-is-the-difference-between-fetch-and-query"
)

// querying is QUERY.
func querying() []entry {
	return []entry{
		{"query/all", citeQuery, must, "without fields it returns what the mailbox has", queryAll},
		{"query/offset", citeQueryFAQ, must, "it moves no group's offset", queryOffset},
		{"query/same", citeQueryFAQ, must, "two of them return the same", querySame},
		{"query/key", citeQueryRequest, must, "with a key it returns the latest message of that key, and nothing else", queryKey},
		{"query/tag", citeHeaders, must, "with a tag it returns the messages that have it, and nothing else", queryTag},
		{"query/tag-mailboxes", citeHeaders, must, "messages of another mailbox that have the tag are not among them", tagMailboxes},
		{"query/limit", "protocol.md#query-example", must, "limit is the most that it returns: the most recent ones", queryLimit},
		{"query/since", citeQueryRequest, must, "with since it returns what came after that time", querySince},
		{"query/no-mailbox", citeErrors, must, "an unknown mailbox is an error, and not an empty answer", queryNobody},
		{"query/none", citeQueryRequest, should, "a key and a tag that no message has are no error, and an empty list", queryNone},
	}
}

func queryAll(x *exam) {
	at := x.create("a")
	x.queries("of a new mailbox", at, nil)
	x.sendAll(at, "m1", "m2", "m3")
	got := x.queries("everything that was sent", at, nil, "m1", "m2", "m3")
	for i, m := range x.fetches("sent", at, earliest, "m1", "m2", "m3") {
		if m.ID != got[i].ID {
			x.Violates("QUERY has the id %d for %s, FETCH %d", got[i].ID, m.Payload, m.ID)
		}
	}
}

func queryOffset(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2", "m3")
	x.fetches("sent", at, earliest, "m1", "m2", "m3")
	x.reads(at, "g", "m1")
	x.query(at)
	x.query(at, "limit", 1)
	x.fetches("after two queries", at, x.group("g"), "m2", "m3")
}

func querySame(x *exam) {
	at := x.create("a")
	for i, p := range sentRanks {
		x.send(at, numbered(len(sentRanks))[i], "mq9-priority", p)
	}
	look := func() []mail {
		all := x.query(at)
		slices.SortFunc(all, func(a, b mail) int { return cmp.Compare(a.ID, b.ID) })
		return all
	}
	var first []mail
	x.eventually("not everything that was sent is there", func() bool {
		first = look()
		return len(first) == len(sentRanks)
	})
	for range 3 {
		if again := look(); !slices.Equal(again, first) {
			x.Violates("first %v, then %v", first, again)
		}
	}
}

func queryKey(x *exam) {
	at := x.create("a")
	key, other := x.own("status"), x.own("status2")
	x.send(at, "old", "mq9-key", key)
	x.send(at, "other", "mq9-key", other)
	x.send(at, "none")
	x.send(at, "new", "mq9-key", key)
	x.queries("the latest of its key", at, []any{"key", key}, "new")
	x.queries("the latest of the other key", at, []any{"key", other}, "other")
}

func queryTag(x *exam) {
	at := x.create("a")
	billing, vip := x.own("billing"), x.own("vip")
	x.send(at, "m1", "mq9-tags", billing+","+vip)
	x.send(at, "m2", "mq9-tags", billing)
	x.send(at, "m3", "mq9-tags", vip)
	x.send(at, "m4")
	x.tagged(at, billing, "m1", "m2")
	x.tagged(at, vip, "m1", "m3")
}

func tagMailboxes(x *exam) {
	first, second := x.create("a"), x.create("b")
	x.send(first, "first", "mq9-tags", "billing")
	x.send(second, "second", "mq9-tags", "billing")
	x.tagged(first, "billing", "first")
	x.tagged(second, "billing", "second")
}

func queryLimit(x *exam) {
	at := x.create("a")
	x.sendAll(at, numbered(8)...)
	x.queries("everything", at, nil, numbered(8)...)
	for _, n := range []int{1, 3} {
		got := payloadsOf(x.query(at, "limit", n))
		slices.Sort(got)
		if want := numbered(8)[8-n:]; !slices.Equal(got, want) {
			x.Violates("the most recent %d of 8 are %s, it returns %s", n, list(want), list(got))
		}
	}
}

func querySince(x *exam) {
	at, middle := twoTimes(x)
	x.queries("since a time between them", at, []any{"since", middle}, "new 1", "new 2")
	x.queries("since a time before them", at, []any{"since", middle - 100}, "old 1", "old 2", "new 1", "new 2")
}

func queryNobody(x *exam) {
	for _, c := range []*client{x.out(), x.in()} {
		c.refused(subjectQuery+x.address("nobody"), []byte("{}"))
	}
}

func queryNone(x *exam) {
	at := x.create("a")
	x.send(at, "m", "mq9-key", x.own("a"), "mq9-tags", x.own("b"))
	x.queries("sent", at, nil, "m")
	x.queries("of a key that none has", at, []any{"key", x.own("other")})
	x.tagged(at, x.own("other"))
}
