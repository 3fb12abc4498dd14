package mq9

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

const (
	citeCreate        = "protocol.md#mq9aimailboxcreate"
	citeCreateRequest = "protocol.md#request-fields"
	citeCreateReply   = "protocol.md#response-fields"
	citeConcepts      = "protocol.md#core-concepts"
	citeExpires       = "faq.md#what-happens-when-a-mailbox-expires"
)

// creating is how a mailbox comes and goes.
func creating() []entry {
	return []entry{
		{"create/reply", citeCreateReply, must, "the reply has the address that was asked for", createReply},
		{"create/generated", citeCreateRequest, must, "without a name the broker makes an address, of the form that addresses have, and another one each time", generated},
		{"create/duplicate", citeConcepts, must, "a name that is there is refused with \"mailbox NAME already exists\" and an empty address", duplicate},
		{"create/duplicate-keeps", citeConcepts, must, "a mailbox keeps its messages when another client tries to make it", duplicateKeeps},
		{"create/once", citeConcepts, must, "of many who make one mailbox at the same time, exactly one is told that it did", once},
		{"create/ttl", citeConcepts, must, "a mailbox whose time is over is gone, with its messages", expires},
		{"create/ttl-until", citeCreateRequest, must, "a mailbox is there until its time is over", livesUntil},
		{"create/ttl-fixed", "faq.md#can-i-change-a-mailboxs-ttl-after-creation", must, "making a mailbox again does not change its time", fixedTTL},
		{"create/ttl-0", citeCreateRequest, must, "a ttl of 0 is not over at once", forEver},
		{"create/ttl-wrong", citeCreateRequest, should, "a ttl that is no number of seconds is refused, and no mailbox is made", wrongTTL},
		{"create/again", citeExpires, must, "a mailbox that is made again after its time is empty, and groups begin anew", madeAgain},
	}
}

func createReply(x *exam) {
	at := x.address("a")
	if r := x.out().done(subjectCreate, x.body("name", at, "ttl", mailboxTTL)); r.text("mail_address") != at {
		x.Violates("%s was asked for, the reply is %s", at, r)
	}
}

var addressForm = regexp.MustCompile(`^[a-z0-9]+(\.[a-z0-9]+)*$`)

func generated(x *exam) {
	var made []string
	for range 2 {
		at := x.out().done(subjectCreate, x.body("ttl", mailboxTTL)).text("mail_address")
		if len(at) > 128 || !addressForm.MatchString(at) {
			x.Violates("the address %q was made, which has not the form of one", at)
		}
		made = append(made, at)
	}
	if made[0] == made[1] {
		x.Violates("%q was made twice", made[0])
	}
	x.known(made[0])
	x.send(made[0], "m")
	x.fetches("sent to "+made[0], made[0], earliest, "m")
}

// exists is the error of a mailbox that is there.
func exists(x *exam, c *client, at string) reply {
	r := c.refused(subjectCreate, x.body("name", at, "ttl", mailboxTTL))
	if !strings.Contains(r.text("error"), fmt.Sprintf("mailbox %s already exists", at)) {
		x.Violates("the error is %s", r)
	}
	return r
}

func duplicate(x *exam) {
	at := x.create("a")
	for _, c := range []*client{x.out(), x.in()} {
		if r := exists(x, c, at); r.text("mail_address") != "" {
			x.Violates("the reply has an address: %s", r)
		}
	}
}

func duplicateKeeps(x *exam) {
	at := x.create("a")
	x.send(at, "m")
	exists(x, x.out(), at)
	exists(x, x.in(), at)
	x.fetches("after another attempt to make the mailbox", at, earliest, "m")
}

func once(x *exam) {
	const rounds, each = 8, 8
	for round := range rounds {
		body, calls, made := x.body("name", x.address(fmt.Sprintf("a%d", round)), "ttl", mailboxTTL), []call{}, 0
		clients := []*client{x.out(), x.in(), x.dial("third", x.from), x.dial("fourth", x.to)}
		for i := range each {
			calls = append(calls, clients[i%len(clients)].request(subjectCreate, body))
		}
		for _, k := range calls {
			if !k.reply().failed() {
				made++
			}
		}
		if made == 0 && !clients[0].ask(subjectCreate, body).failed() {
			x.Undecided("%d requests at the same time were all refused, and the next one was not", each)
		}
		if made != 1 {
			x.Violates("%d requests made one mailbox at the same time, %d were told that they did", each, made)
		}
		clients[2].drop()
		clients[3].drop()
	}
}

// goes is that a mailbox is gone at both nodes, some time after its own was over.
func goes(x *exam, at string) {
	x.until = time.Time{}
	x.After(short * time.Second)
	x.over("a mailbox is still there, its time being over", func() bool {
		return x.in().ask(subjectQuery+at, []byte("{}")).failed() && x.in().ask(subjectFetch+at, x.body(earliest...)).failed() &&
			x.out().ask(subjectSend+at, []byte("late")).failed()
	})
}

// brief makes a mailbox that a check sees the end of. Until shortly before, it is there.
func (x *exam) brief() (at string) {
	x.until = time.Now().Add((short - 1) * time.Second)
	return x.create("a", "ttl", short)
}

// short is how many seconds such a mailbox lives.
const short = 4

func expires(x *exam) {
	at := x.brief()
	x.send(at, "m")
	goes(x, at)
}

func livesUntil(x *exam) {
	const ttl = 6
	began := time.Now()
	x.until = began.Add((ttl - 1) * time.Second)
	at := x.create("a", "ttl", ttl)
	x.send(at, "m")
	looked := 0
	for ; time.Now().Before(x.until.Add(-time.Second)); looked++ {
		if r := x.in().ask(subjectQuery+at, []byte("{}")); r.failed() {
			x.Violates("%.1f s after it was made for %d s the mailbox is gone: %s", time.Since(began).Seconds(), ttl, r)
		}
		x.After(10 * lookAgain)
	}
	if looked == 0 {
		x.Undecided("it was not looked for in time: the broker or this machine is slow")
	}
}

func fixedTTL(x *exam) {
	at := x.brief()
	exists(x, x.out(), at)
	goes(x, at)
}

func forEver(x *exam) {
	at := x.createAs("a", "ttl", 0)
	x.send(at, "m")
	x.After(short * time.Second)
	x.fetches("from a mailbox that lives for ever", at, earliest, "m")
}

func wrongTTL(x *exam) {
	for i, ttl := range []any{-1, "soon", 1.5, []int{1}, map[string]int{}} {
		at := x.address(fmt.Sprintf("a%d", i))
		x.out().refused(subjectCreate, x.body("name", at, "ttl", ttl))
		x.out().refused(subjectQuery+at, []byte("{}"))
	}
}

func madeAgain(x *exam) {
	at := x.brief()
	x.send(at, "old")
	got := x.fetches("sent to a new mailbox", at, x.group("g"), "old")
	x.ack(at, "g", got[0].ID)
	goes(x, at)
	x.eventually("a mailbox whose time is over cannot be made again", func() bool {
		return !x.out().ask(subjectCreate, x.body("name", at, "ttl", mailboxTTL)).failed()
	})
	x.known(at)
	x.fetches("nothing was sent to the mailbox that was made again", at, earliest)
	x.send(at, "new")
	x.fetches("sent to the mailbox that was made again", at, x.group("g"), "new")
}
