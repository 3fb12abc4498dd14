package mq9

import (
	"strings"
	"time"
)

const citeBoundary = "protocol.md#core-concepts"

// keepingApart returns the checks that a client without a mailbox's address
// reads and writes nothing of the mailbox. The page calls this the security
// boundary.
func keepingApart() []entry {
	return []entry{
		{"apart/nats-subscriber", citeBoundary, should, "a NATS client that subscribes to everything sees neither the addresses of mailboxes nor messages", subscriberSeesNothing},
		{"apart/nats-publisher", citeBoundary, should, "what is published to a NATS subject that is spelled like an address is in no mailbox", publisherAddsNothing},
		{"apart/wildcards", citeBoundary, must, "an address with wildcards stands for no mailbox", wildcardsMeanNothing},
		{"apart/spelling", citeBoundary, should, "an address that is spelled in another way stands for no mailbox", spellingsMeanNothing},
	}
}

func subscriberSeesNothing(x *exam) {
	spy := x.open("spy", x.to)
	for i, subject := range []string{">", "*", "$mq9.>", "$mq9.AI.MSG.SEND.>", x.token + ".>"} {
		spy.subscribe(subject, []string{"1", "2", "3", "4", "5"}[i])
	}
	teller := x.open("teller", x.from)
	x.hears(spy, teller, "before", "")
	at := x.create("secret")
	x.send(at, "confidential")
	x.fetches("sent", at, earliest, "confidential")
	x.hears(spy, teller, "after", at)
}

// hears publishes until a subscriber of everything hears it, which must not hear of a
// mailbox meanwhile.
func (x *exam) hears(spy, teller *client, marker, secret string) {
	marker = x.token + " " + marker
	if !x.soon(x.wait, func() bool {
		teller.publish("told."+x.token, "", []byte(marker))
		x.After(lookAgain)
		for {
			select {
			case m := <-spy.heard:
				if said := m.subject + " " + string(m.data); secret != "" && (strings.Contains(said, secret) || strings.Contains(said, "confidential")) {
					x.Violates("a client that knows no address was sent %s on %s", clip(string(m.data)), m.subject)
				}
				if string(m.data) == marker {
					return true
				}
			default:
				return false
			}
		}
	}) {
		x.Undecided("a client that subscribes to everything does not hear what another one publishes, in %v", x.wait)
	}
}

func publisherAddsNothing(x *exam) {
	at := x.create("a")
	x.send(at, "m1")
	x.out().publish(at, "", []byte("intruder"))
	x.out().publish("$mq9.AI.MSG."+at, "", []byte("intruder"))
	x.send(at, "m2") // behind what was published, on the same connection
	x.fetches("besides what was published to a subject of the same spelling", at, earliest, "m1", "m2")
	x.queries("besides what was published", at, nil, "m1", "m2")
}

func wildcardsMeanNothing(x *exam) {
	at := x.create("a")
	x.send(at, "m")
	x.fetches("sent", at, earliest, "m")
	c, calls := x.dial("guesser", x.to), []call{}
	for _, other := range []string{x.token + ".*", x.token + ".>", "*.a", ">"} {
		calls = append(calls, c.request(subjectFetch+other, x.body("deliver", "earliest", "config", most(100))),
			c.request(subjectQuery+other, []byte("{}")), c.request(subjectSend+other, []byte("intruder")))
	}
	// A broker of NATS may refuse such a subject, or end the connection for it.
	deadline := time.Now().Add(x.wait / 2)
	for _, k := range calls {
		if r, ok := k.tryReply(time.Until(deadline)); ok && !r.failed() {
			x.Violates("%s is answered by %s", k.subject, r)
		}
	}
	x.fetches("nothing was sent to this address", at, earliest, "m")
}

func spellingsMeanNothing(x *exam) {
	at := x.create("a.b")
	x.send(at, "m")
	x.fetches("sent", at, earliest, "m")
	for _, other := range []string{strings.ToUpper(at), strings.ReplaceAll(at, ".", "_"), strings.ReplaceAll(at, ".", "%2e"), strings.ReplaceAll(at, ".", "-")} {
		x.in().refused(subjectFetch+other, x.body(earliest...))
		x.in().refused(subjectQuery+other, []byte("{}"))
		x.in().refused(subjectSend+other, []byte("intruder"))
	}
	x.fetches("nothing was sent to this address", at, earliest, "m")
}
