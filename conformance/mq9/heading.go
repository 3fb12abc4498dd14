package mq9

import (
	"fmt"
	"slices"
	"time"
)

const citeHeaders = "protocol.md#request-parameters"

// heading is what the headers of a message do.
func heading() []entry {
	return []entry{
		{"key/latest", citeHeaders, must, "of the messages of one key the last one alone is read", keyLatest},
		{"key/others", citeHeaders, must, "messages of another key, and of none, are left alone", keyOthers},
		{"key/mailboxes", citeHeaders, must, "a key of one mailbox replaces nothing in another one", keyMailboxes},
		{"key/acknowledged", citeHeaders, should, "a message that replaces one that a group has acknowledged is read by the group", keyAcknowledged},
		{"delay/hidden", citeHeaders, must, "a delayed message is not read before it is due, and its id is -1", delayHidden},
		{"delay/due", citeHeaders, must, "a delayed message is read when it is due, once", delayDue},
		{"delay/group", citeHeaders, must, "a message that was delayed is read by a group that acknowledged others meanwhile", delayBehind},
		{"delay/priority", citeHeaders, should, "a message that was delayed has its priority when it is due", delayRanked},
		{"delay/others", citeHeaders, must, "messages that are not delayed wait for none that is", delayOthers},
		{"message-ttl/gone", citeHeaders, must, "a message whose time is over is not read any more", messageExpires},
		{"message-ttl/until", citeHeaders, must, "a message is read until its time is over", messageLives},
		{"message-ttl/others", citeHeaders, must, "a message's time ends neither its mailbox nor other messages", messageTTLOthers},
		{"tags/kept", citeHeaders, must, "a message is found by each of its tags", eachTag},
	}
}

func keyLatest(x *exam) {
	at := x.create("a")
	for _, p := range []string{"1", "2", "3"} {
		x.send(at, p, "mq9-key", x.own("status"))
	}
	x.fetches("the last one of its key", at, earliest, "3")
	x.queries("the last one of its key", at, nil, "3")
}

func keyOthers(x *exam) {
	at := x.create("a")
	x.send(at, "none 1")
	x.send(at, "a 1", "mq9-key", x.own("a"))
	x.send(at, "b 1", "mq9-key", x.own("b"))
	x.send(at, "none 2")
	x.send(at, "a 2", "mq9-key", x.own("a"))
	x.send(at, "ab 1", "mq9-key", x.own("ab"))
	x.fetches("the last ones of their keys, and those without", at, earliest, "none 1", "b 1", "none 2", "a 2", "ab 1")
}

func keyMailboxes(x *exam) {
	first, second := x.create("a"), x.create("b")
	x.send(first, "first", "mq9-key", "status")
	x.send(second, "second", "mq9-key", "status")
	x.fetches("of this mailbox", first, earliest, "first")
	x.fetches("of the other mailbox", second, earliest, "second")
	x.queries("of this mailbox, by its key", first, []any{"key", "status"}, "first")
}

func keyAcknowledged(x *exam) {
	at := x.create("a")
	x.send(at, "1", "mq9-key", x.own("status"))
	got := x.fetches("sent", at, x.group("g"), "1")
	x.ack(at, "g", got[0].ID)
	x.send(at, "2", "mq9-key", x.own("status"))
	x.fetches("which replaces one that was acknowledged", at, x.group("g"), "2")
}

// due is for how many seconds a check delays a message.
const due = 3

func delayHidden(x *exam) {
	at := x.create("a")
	began := time.Now()
	if id := x.send(at, "late", "mq9-delay", fmt.Sprint(due)); id != -1 {
		x.Violates("a delayed message has the id %d", id)
	}
	// A broker that counts in whole seconds may be one early.
	x.until = began.Add((due - 1) * time.Second)
	looked := 0
	for time.Now().Before(x.until) {
		got := x.fetch(at, earliest...)
		early := time.Now().Before(x.until)
		if early {
			looked++
		}
		if early && len(got) > 0 {
			x.Violates("a message that is delayed by %d s is read %.1f s after it was sent", due, time.Since(began).Seconds())
		}
		x.After(4 * lookAgain)
	}
	if looked == 0 {
		x.Undecided("it was due before it was looked for: the broker or this machine is slow")
	}
}

func delayDue(x *exam) {
	at := x.create("a")
	x.send(at, "late", "mq9-delay", fmt.Sprint(due))
	x.After(due * time.Second)
	got := x.fetches("which is due", at, x.group("g"), "late")
	if got[0].ID < 0 {
		x.Violates("it has the id %d, by which it cannot be acknowledged", got[0].ID)
	}
	x.ack(at, "g", got[0].ID)
	for range 8 {
		x.are("it was read, and acknowledged", x.fetch(at, x.group("g")...))
		x.After(4 * lookAgain)
	}
}

func delayBehind(x *exam) {
	at := x.create("a")
	x.send(at, "late", "mq9-delay", fmt.Sprint(due))
	x.sendAll(at, "m1", "m2")
	x.fetches("sent", at, earliest, "m1", "m2")
	x.reads(at, "g", "m1", "m2")
	x.After(due * time.Second)
	x.fetches("which was sent before what the group acknowledged, and is due now", at, x.group("g"), "late")
}

func delayRanked(x *exam) {
	at := x.create("a")
	x.send(at, "late", "mq9-delay", fmt.Sprint(due), "mq9-priority", "critical")
	x.send(at, "m")
	x.After(due * time.Second)
	if got := x.fetches("a critical one, which is due, before a normal one", at, earliest, "late", "m"); got[0].Priority != "critical" {
		x.Violates("it was sent as critical, and comes as %q", got[0].Priority)
	}
}

func delayOthers(x *exam) {
	at := x.create("a")
	x.send(at, "late", "mq9-delay", "200")
	x.sendAll(at, "m1", "m2")
	x.fetches("beside one that is delayed by 200 s", at, earliest, "m1", "m2")
}

func messageExpires(x *exam) {
	at := x.create("a")
	x.until = time.Now().Add((short - 1) * time.Second)
	x.send(at, "m", "mq9-ttl", fmt.Sprint(short))
	x.fetches("sent", at, earliest, "m")
	x.until = time.Time{}
	x.After(short * time.Second)
	x.over("a message is read, its time being over", func() bool { return len(x.fetch(at, earliest...))+len(x.query(at)) == 0 })
}

func messageLives(x *exam) {
	const ttl = 6
	at := x.create("a")
	x.until = time.Now().Add((ttl - 1) * time.Second)
	x.send(at, "m", "mq9-ttl", fmt.Sprint(ttl))
	x.send(at, "behind")
	looked := 0
	for time.Now().Before(x.until.Add(-time.Second)) {
		switch got := payloadsOf(x.fetch(at, earliest...)); {
		case slices.Equal(got, []string{"m", "behind"}):
			looked++
		case len(got) > 0 && !slices.Equal(got, []string{"m"}): // the one behind is not there yet
			x.Violates("a message that lives for %d s and one behind it were sent, and %s is read", ttl, list(got))
		}
		x.After(4 * lookAgain)
	}
	if looked == 0 {
		x.Undecided("nothing was read in time: the broker or this machine is slow")
	}
}

func messageTTLOthers(x *exam) {
	at := x.create("a")
	x.send(at, "for ever 1")
	x.send(at, "short", "mq9-ttl", fmt.Sprint(short))
	x.send(at, "long", "mq9-ttl", "200")
	x.send(at, "for ever 2")
	x.After(short * time.Second)
	want := []string{"for ever 1", "long", "for ever 2"}
	x.over("of four messages, one of which has ended, not the other three are read", func() bool {
		return slices.Equal(payloadsOf(x.fetch(at, earliest...)), want)
	})
	x.send(at, "after")
}

func eachTag(x *exam) {
	at := x.create("a")
	long, other, part := x.own("billing"), x.own("vip"), x.own("bill")
	x.send(at, "m", "mq9-tags", long+","+other)
	x.send(at, "other", "mq9-tags", part)
	x.tagged(at, long, "m")
	x.tagged(at, other, "m")
	x.tagged(at, part, "other")
}
