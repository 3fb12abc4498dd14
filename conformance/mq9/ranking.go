package mq9

import (
	"fmt"
	"slices"
)

const (
	citePriority  = "protocol.md#priority-description"
	citeReconnect = "faq.md#how-does-priority-work-after-a-reconnect"
)

// ranking is the order of priorities.
func ranking() []entry {
	return []entry{
		{"priority/order", citePriority, must, "critical comes before urgent, urgent before normal, and each in the order of sending", ranked},
		{"priority/kept", citeFetchReply, must, "a message comes with the priority that it was sent with, normal where it was sent with none", priorityKept},
		{"priority/one-by-one", citeReconnect, must, "a group that reads and acknowledges one at a time reads every message once, in that order", oneByOne},
		{"priority/batches", "faq.md#which-msg_id-should-i-pass-to-ack", must, "a group that acknowledges the last message of each batch reads every message once, in that order", inBatches},
		{"priority/later", citeReconnect, must, "a critical message that comes later is read before normal ones that wait", laterCritical},
		{"priority/many", citePriority, must, "hundreds of normal messages do not hold back a critical one", behindMany},
	}
}

var sentRanks = []string{"normal", "urgent", "critical", "normal", "critical", "urgent", "normal", "urgent", "critical"}

// sendRanked sends messages of all priorities, and returns the order in which they
// are to be read.
func (x *exam) sendRanked(at string) (want []string) {
	for i, p := range sentRanks {
		x.send(at, fmt.Sprintf("%s %d", p, i), "mq9-priority", p)
	}
	for _, rank := range []string{"critical", "urgent", "normal"} {
		for i, p := range sentRanks {
			if p == rank {
				want = append(want, fmt.Sprintf("%s %d", p, i))
			}
		}
	}
	return want
}

// listed checks that everything was read, once and in order. Otherwise it says
// which messages were lost, repeated or out of order.
func (x *exam) listed(why string, got, want []string) {
	counts := map[string]int{}
	for _, p := range got {
		counts[p]++
	}
	var lost, more []string
	for _, p := range want {
		switch n := counts[p]; {
		case n == 0:
			lost = append(lost, p)
		case n > 1:
			more = append(more, p)
		}
	}
	switch {
	case len(lost) > 0:
		x.Violates("%s: %d of %d messages never came: %s; read: %s", why, len(lost), len(want), list(lost), list(got))
	case len(more) > 0:
		x.Violates("%s: %s came more than once; read: %s", why, list(more), list(got))
	case !slices.Equal(got, want):
		x.Violates("%s: expected %s, read %s", why, list(want), list(got))
	}
}

func ranked(x *exam) {
	at := x.create("a")
	want := x.sendRanked(at)
	x.fetches("by priority", at, earliest, want...)
	x.fetches("by priority, of a group", at, x.group("g"), want...)
}

func priorityKept(x *exam) {
	at := x.create("a")
	for _, p := range []string{"critical", "urgent", "normal"} {
		x.send(at, p, "mq9-priority", p)
	}
	x.send(at, "none")
	for _, m := range x.fetches("by priority", at, earliest, "critical", "urgent", "normal", "none") {
		want := m.Payload
		if want == "none" {
			want = "normal"
		}
		if m.Priority != want {
			x.Violates("sent with priority %s, it comes with %q", want, m.Priority)
		}
	}
}

// drains reads batches of a group and acknowledges the last message of each, until
// nothing comes any more.
func (x *exam) drains(at, name string, batch int, want []string) {
	var got []string
	for range 4 * len(want) { // bounded: one that is not moved on comes again and again
		all := x.fetch(at, x.group(name, "config", most(batch))...)
		if len(all) == 0 {
			break
		}
		got = append(got, payloadsOf(all)...)
		x.ack(at, name, all[len(all)-1].ID)
	}
	x.listed(fmt.Sprintf("batches of %d, the last message of each acknowledged", batch), got, want)
}

func oneByOne(x *exam) {
	at := x.create("a")
	want := x.sendRanked(at)
	x.fetches("sent", at, earliest, want...)
	x.drains(at, "g", 1, want)
}

func inBatches(x *exam) {
	at := x.create("a")
	want := x.sendRanked(at)
	x.fetches("sent", at, earliest, want...)
	for _, batch := range []int{2, 4, 100} {
		x.drains(at, fmt.Sprintf("g%d", batch), batch, want)
	}
}

func laterCritical(x *exam) {
	at := x.create("a")
	x.sendAll(at, "n1", "n2", "n3")
	x.fetches("sent", at, earliest, "n1", "n2", "n3")
	x.reads(at, "g", "n1")
	x.send(at, "c1", "mq9-priority", "critical")
	x.fetches("a critical one came later", at, x.group("g"), "c1", "n2", "n3")
	x.reads(at, "g", "c1")
	x.fetches("the critical one was acknowledged", at, x.group("g"), "n2", "n3")
}

func behindMany(x *exam) {
	at := x.create("a")
	x.sendAll(at, numbered(250)...)
	x.send(at, "now", "mq9-priority", "critical")
	x.fetches("behind 250 normal ones", at, append([]any{"config", most(1)}, earliest...), "now")
}
