package mq9

import "fmt"

const (
	citeAck      = "protocol.md#ack-request-fields"
	citeWhichAck = "faq.md#which-msg_id-should-i-pass-to-ack"
)

// acknowledging is ACK.
func acknowledging() []entry {
	return []entry{
		{"ack/batch", citeWhichAck, must, "acknowledging the last message of a batch confirms the batch", ackBatch},
		{"ack/middle", "protocol.md#mq9aimsgackmail_address", must, "a group goes on behind the message that it acknowledged, also one in the middle", ackMiddle},
		{"ack/backwards", "protocol.md#mq9aimsgackmail_address", should, "acknowledging advances: an older message, acknowledged late, brings nothing back", ackBackwards},
		{"ack/required", citeAck, should, "a request without group_name, mail_address or msg_id is refused", ackRequired},
		{"ack/no-mailbox", citeAgentError, must, "an unknown mailbox is an error", ackNobody},
		{"ack/keeps", citeConcepts, must, "what one group acknowledged is there for others, and for QUERY", ackKeeps},
	}
}

func ackBatch(x *exam) {
	at := x.create("a")
	x.sendAll(at, numbered(10)...)
	x.fetches("sent", at, earliest, numbered(10)...)
	x.drains(at, "g", 4, numbered(10))
}

func ackMiddle(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2", "m3", "m4")
	got := x.fetches("sent", at, x.group("g"), "m1", "m2", "m3", "m4")
	x.ack(at, "g", got[1].ID)
	x.fetches("two of four were acknowledged", at, x.group("g"), "m3", "m4")
}

func ackBackwards(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2", "m3")
	got := x.fetches("sent", at, x.group("g"), "m1", "m2", "m3")
	x.ack(at, "g", got[1].ID)
	x.in().ask(subjectAck+at, x.body("group_name", x.own("g"), "mail_address", at, "msg_id", got[0].ID))
	x.fetches("the first was acknowledged after the second", at, x.group("g"), "m3")
}

func ackRequired(x *exam) {
	at := x.create("a")
	id := x.send(at, "m")
	x.fetches("sent", at, x.group("g"), "m")
	fields := []any{"group_name", x.own("g"), "mail_address", at, "msg_id", id}
	x.ack(at, "g", id)
	for i := 0; i < len(fields); i += 2 {
		without := append(append([]any{}, fields[:i]...), fields[i+2:]...)
		x.in().refused(subjectAck+at, x.body(without...))
	}
	x.in().refused(subjectAck+at, x.body("group_name", x.own("g"), "mail_address", at, "msg_id", fmt.Sprint(id)+"x"))
}

func ackNobody(x *exam) {
	at := x.address("nobody")
	x.in().refused(subjectAck+at, x.body("group_name", x.own("g"), "mail_address", at, "msg_id", 0))
}

func ackKeeps(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2")
	x.fetches("sent", at, earliest, "m1", "m2")
	x.reads(at, "g", "m1", "m2")
	x.fetches("of another group", at, x.group("h"), "m1", "m2")
	x.fetches("without a group", at, earliest, "m1", "m2")
	x.queries("acknowledged by a group", at, nil, "m1", "m2")
}
