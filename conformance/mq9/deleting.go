package mq9

import (
	"fmt"
	"strings"
)

const citeDelete = "protocol.md#mq9aimsgdeletemail_addressmsg_id"

// deleting is DELETE.
func deleting() []entry {
	return []entry{
		{"delete/reply", citeDelete, must, "the reply has \"deleted\": true", deleteReply},
		{"delete/gone", citeDelete, must, "a deleted message cannot be read, and others stay", deleteGone},
		{"delete/unknown", citeErrors, must, "an id that no message has is refused with \"message not found\"", deleteUnknown},
		{"delete/twice", citeErrors, must, "so is one that was deleted before", deleteTwice},
		{"delete/no-mailbox", citeErrors, must, "an unknown mailbox is an error", deleteNobody},
		{"delete/no-number", citeDelete, should, "an id that is no number is an error", deleteNoNumber},
		{"delete/other-mailbox", citeConcepts, must, "who knows the address of one mailbox deletes nothing of another one", deleteElsewhere},
		{"delete/offset", citeOffset, must, "a group goes on behind what it acknowledged, also where that was deleted", deleteAcknowledged},
	}
}

func deletion(at string, id any) string { return fmt.Sprintf("%s%s.%v", subjectDelete, at, id) }

func deleteReply(x *exam) {
	at := x.create("a")
	id := x.send(at, "m")
	if r := x.out().done(deletion(at, id), nil); string(r.object["deleted"]) != "true" {
		x.Violates("the reply is %s", r)
	}
}

func deleteGone(x *exam) {
	at := x.create("a")
	ids := x.sendAll(at, "m1", "m2", "m3")
	x.fetches("sent", at, earliest, "m1", "m2", "m3")
	x.out().done(deletion(at, ids[1]), nil)
	x.fetches("one was deleted", at, earliest, "m1", "m3")
	x.fetches("one was deleted, of a group", at, x.group("g"), "m1", "m3")
	x.queries("one was deleted", at, nil, "m1", "m3")
}

// notFound is the error of a message that is not there.
func notFound(x *exam, at string, id int64) {
	if r := x.out().refused(deletion(at, id), nil); !strings.Contains(r.text("error"), "message not found") {
		x.Violates("the error is %s", r)
	}
}

func deleteUnknown(x *exam) {
	at := x.create("a")
	id := x.send(at, "m")
	notFound(x, at, id+1000000)
	x.fetches("something else was deleted", at, earliest, "m")
}

func deleteTwice(x *exam) {
	at := x.create("a")
	id := x.send(at, "m")
	x.out().done(deletion(at, id), nil)
	notFound(x, at, id)
}

func deleteNobody(x *exam) {
	x.out().refused(deletion(x.address("nobody"), 0), nil)
}

func deleteNoNumber(x *exam) {
	at := x.create("a")
	x.send(at, "m")
	for _, id := range []string{"first", "-1", "1.5", "18446744073709551616", "0x1"} {
		x.out().refused(deletion(at, id), nil)
	}
	x.fetches("nothing was deleted", at, earliest, "m")
}

func deleteElsewhere(x *exam) {
	first, second := x.create("a"), x.create("b")
	id := x.send(first, "m")
	x.fetches("sent", first, earliest, "m")
	x.out().ask(deletion(second, id), nil) // which may have a message of that number
	x.After(4 * lookAgain)
	x.fetches("another mailbox's message of that id was deleted", first, earliest, "m")
}

func deleteAcknowledged(x *exam) {
	at := x.create("a")
	x.sendAll(at, "m1", "m2", "m3")
	got := x.fetches("sent", at, x.group("g"), "m1", "m2", "m3")
	x.ack(at, "g", got[1].ID)
	x.out().done(deletion(at, got[1].ID), nil)
	x.fetches("what was acknowledged is deleted", at, x.group("g"), "m3")
}
