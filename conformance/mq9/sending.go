package mq9

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	citeSend      = "protocol.md#mq9aimsgsendmail_address"
	citeSendReply = "protocol.md#send-response-fields"
	citeSize      = "faq.md#how-large-can-a-message-payload-be"
	citeErrors    = "protocol.md#error-reference"
)

// sending is what is stored of a message.
func sending() []entry {
	return []entry{
		{"send/id", citeSendReply, must, "the reply has the id under which the message is read", sentID},
		{"send/ids", citeConcepts, must, "no two messages of a mailbox have one id, and later ones have higher ids", sentIDs},
		{"send/text", citeSend, must, "text comes as it was sent, whatever is in it", texts},
		{"send/bytes", citeSend, must, "bytes that are no text come as they were sent", someBytes},
		{"send/empty", citeSend, should, "a message without a payload is refused, or read", emptyPayload},
		{"send/large", citeSize, must, "a message half as large as the broker's INFO allows is stored and read whole", large},
		{"send/no-mailbox", citeErrors, must, "a message to an unknown mailbox is refused, and the error says so", sendToNobody},
		{"send/many-senders", "faq.md#can-multiple-agents-write-to-the-same-mailbox", must, "many may send to one mailbox, and every message is there once", manySenders},
		{"send/nodes", "faq.md#can-multiple-agents-write-to-the-same-mailbox", must, "a message may be sent at each node, and is read at each", eachNode},
		{"send/kept", "faq.md#what-happens-if-the-recipient-is-offline-when-i-send-a-message", must, "messages wait for a reader that comes later, on a connection that is made later", kept},
		{"send/waits-for-nobody", citeConcepts, should, "a message that was acknowledged to its sender is there when its sender's connection is gone", senderGone},
	}
}

func sentID(x *exam) {
	at := x.create("a")
	x.sent["m"] = true
	id := x.out().done(subjectSend+at, []byte("m")).id()
	if id < 0 {
		x.Violates("the id is %d", id)
	}
	if got := x.fetches("sent", at, earliest, "m"); got[0].ID != id {
		x.Violates("SEND says %d, FETCH says %d", id, got[0].ID)
	}
}

func sentIDs(x *exam) {
	at := x.create("a")
	ids := x.sendAll(at, numbered(20)...)
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			x.Violates("the ids of messages that were sent one after the other are %d", ids)
		}
	}
}

// numbered are so many payloads.
func numbered(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("m%d", i))
	}
	return all
}

// comesBack is that payloads are read as they were sent.
func comesBack(x *exam, payloads []string) {
	at := x.create("a")
	for _, p := range payloads {
		x.sendAs(at, p)
	}
	var got []mail
	x.eventually(fmt.Sprintf("%d messages were sent, and not all of them are read", len(payloads)), func() bool {
		got = x.fetch(at, earliest...)
		return len(got) == len(payloads)
	})
	for i, sent := range payloads {
		if got[i].Payload != sent {
			x.Violates("%s was sent, %s came", clip(sent), clip(got[i].Payload))
		}
	}
}

func texts(x *exam) {
	comesBack(x, []string{
		"a", " ", "\r\n", "a\r\nMSG x 0 1\r\nb", `{"text":"hello","n":1}`, `"quoted \" and \\"`, "{", "null", "ä 漢字 🜚", "a\x00b", "\t\x01\x1f",
		"<script>&amp;</script>", strings.Repeat("ab", 5000),
	})
}

func someBytes(x *exam) {
	var all []byte
	for b := range 256 {
		all = append(all, byte(b))
	}
	comesBack(x, []string{string(all), "\xff", "\xc3\x28", "a\x80b"})
}

func emptyPayload(x *exam) {
	at := x.create("a")
	if r := x.out().ask(subjectSend+at, nil); !r.failed() {
		x.fetches("an empty message was taken", at, earliest, "")
	}
}

func large(x *exam) {
	// More is not what is asked here: a broker that takes such a message reads and
	// writes it at least once more.
	const largest = 8 << 20
	size := min(x.out().info.MaxPayload/2, largest) // the reply has more around it
	if size <= 0 {
		x.Unsupported("the broker's INFO has no max_payload")
	}
	at, payload := x.create("a"), strings.Repeat("0123456789abcdef", size/16)
	x.sendAs(at, payload)
	var got []mail
	x.eventually(fmt.Sprintf("a message of %d bytes was taken, and is not read", len(payload)), func() bool {
		got = x.fetch(at, earliest...)
		return len(got) > 0
	})
	if got[0].Payload != payload {
		x.Violates("%d bytes were sent, %d came, or others", len(payload), len(got[0].Payload))
	}
}

func sendToNobody(x *exam) {
	for _, c := range []*client{x.out(), x.in()} {
		noMailbox(x, c.refused(subjectSend+x.address("nobody"), []byte("m")))
	}
}

// noMailbox is that an error says that a mailbox is not there: protocol.md has
// "mailbox xxx does not exist", faq.md "mailbox not found".
func noMailbox(x *exam, r reply) {
	if said := r.text("error"); !strings.Contains(said, "does not exist") && !strings.Contains(said, "not found") {
		x.Violates("the error is %s", r)
	}
}

func manySenders(x *exam) {
	const senders, each = 8, 8
	at := x.create("a")
	var clients []*client
	for i := range senders {
		clients = append(clients, x.dial(fmt.Sprintf("sender%d", i), x.from))
	}
	var want []string
	for n := range each {
		var calls []call
		for i, c := range clients {
			want = append(want, fmt.Sprintf("s%d m%d", i, n))
			calls = append(calls, x.sending(c, at, want[len(want)-1]))
		}
		for _, k := range calls {
			x.stored(at, k)
		}
	}
	slices.Sort(want)
	x.shows("each of them was sent once", func() []mail {
		got := x.fetch(at, earliest...)
		slices.SortFunc(got, func(a, b mail) int { return strings.Compare(a.Payload, b.Payload) })
		return got
	}, want...)
}

func eachNode(x *exam) {
	at := x.make("a")
	x.eventually("the mailbox is not known where it is read", func() bool { return x.knows(at) })
	x.send(at, "first")
	x.sent["last"] = true
	x.eventually("the other node does not take a message", func() bool { return !x.in().ask(subjectSend+at, []byte("last")).failed() })
	x.fetches("sent at two nodes", at, earliest, "first", "last")
	x.readable(at)
	x.shows("sent at two nodes, read at the first", func() []mail {
		return x.mails(x.out().done(subjectFetch+at, x.body("deliver", "earliest", "config", most(100))))
	}, "first", "last")
}

// readable is that a mailbox can be read at the senders' node, too, which serves it maybe
// only a while later.
func (x *exam) readable(at string) {
	x.eventually("the other node lets no client read", func() bool {
		return !x.out().ask(subjectFetch+at, x.body("deliver", "earliest", "config", most(100))).failed()
	})
}

func kept(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2")
	x.After(time.Second)
	late := x.dial("late", x.to)
	x.shows("for a reader that came later", func() []mail {
		return late.fetch(at, x.group("g")...)
	}, "m1", "m2")
}

func senderGone(x *exam) {
	at := x.create("a")
	gone := x.dial("gone", x.from)
	x.stored(at, x.sending(gone, at, "m"))
	gone.drop()
	x.fetches("its sender is gone", at, earliest, "m")
}
