package mq9

import (
	"fmt"
	"slices"
	"strings"
)

const (
	citeOverview = "protocol.md#protocol-overview"
	citeResponse = "protocol.md#response-format"
	citeAnySDK   = "faq.md#do-i-need-a-special-sdk-to-use-mq9"
)

// asking is how a request is made, and replied to.
func asking() []entry {
	return []entry{
		{"request/pong", citeAnySDK, must, "the first PING of a NATS client is followed by PONG, and by no PING", pongFirst},
		{"request/mux-inbox", citeAnySDK, must, "replies come by a subscription to all subjects below an inbox, under the number that the client gave it, as nats.go, nats-py, nats.js and jnats ask", muxInbox},
		{"request/own-inbox", citeAnySDK, must, "replies come by a subscription to one inbox, under the number that the client gave it", ownInbox},
		{"request/apart", citeAnySDK, must, "a client that ends its subscription does not end that of another client with the same number", endsItsOwn},
		{"request/together", citeAnySDK, must, "requests that come in one piece are all carried out, also where nothing comes behind them", together},
		{"request/many", citeOverview, must, "of many requests that wait at once, each has its own reply", many},
		{"request/in-turn", "protocol.md#core-concepts", should, "messages that one connection sends without waiting are read in the order in which they were sent", inTurn},
		{"request/error-field", citeResponse, must, "every reply has a field error", errorField},
		{"request/one-reply", citeOverview, must, "a request has one reply", oneReply},
		{"request/unknown", citeOverview, should, "a request that does not exist is replied to by an error, or by -ERR", unknownRequest},
		{"request/malformed", citeOverview, must, "a body that is no JSON object is replied to, by an error, and the connection goes on", malformed},
	}
}

func pongFirst(x *exam) {
	if x.open("first", x.to).early {
		x.Violates("PING came before PONG; a client that waits for PONG, such as nats.go, gives up")
	}
}

// replyTo makes a request whose reply must come by the subscription sid.
func replyTo(x *exam, c *client, sid, at string) {
	c.publish(subjectQuery+x.address("nobody"), at, []byte("{}"))
	var got message
	x.eventually("no reply came to "+at, func() bool {
		select {
		case got = <-c.heard:
			return got.subject == at
		default:
			return false
		}
	})
	if got.sid != sid {
		x.Violates("the subscription has the number %s, the reply came under %s, which the client drops", sid, got.sid)
	}
}

func muxInbox(x *exam) {
	c := x.open("client", x.to)
	c.subscribe(c.inbox+".*", "7")
	replyTo(x, c, "7", c.inbox+".a")
	replyTo(x, c, "7", c.inbox+".b")
}

func ownInbox(x *exam) {
	c := x.open("client", x.to)
	c.subscribe(c.inbox+".a", "3")
	c.subscribe(c.inbox+".b", "4")
	replyTo(x, c, "4", c.inbox+".b")
	replyTo(x, c, "3", c.inbox+".a")
}

func endsItsOwn(x *exam) {
	first, second := x.open("first", x.to), x.open("second", x.to)
	first.subscribe(first.inbox+".a", "5")
	second.subscribe(second.inbox+".a", "5")
	replyTo(x, second, "5", second.inbox+".a")
	second.unsubscribe("5")
	replyTo(x, first, "5", first.inbox+".a")
}

func together(x *exam) {
	at := x.create("a")
	c := x.dial("client", x.to)
	c.ask(subjectQuery+at, []byte("{}"))
	c.still = true
	first, to := c.expect(subjectQuery + at)
	one, said := frame(first.subject, to, []byte("{}"))
	second, to := c.expect(subjectQuery + at)
	other, more := frame(second.subject, to, []byte("{}"))
	c.write(one+other, said+", and in the same piece "+more)
	first.reply()
	second.reply()
}

func many(x *exam) {
	const n = 64
	at := x.create("a")
	calls, ids := []call{}, []int64{}
	clients := []*client{x.out(), x.dial("second", x.from)}
	for i := range n {
		calls = append(calls, x.sending(clients[i%2], at, fmt.Sprintf("m%d", i)))
	}
	for _, k := range calls {
		r := x.stored(at, k)
		if slices.Contains(ids, r.id()) {
			x.Violates("two messages have the id %d", r.id())
		}
		ids = append(ids, r.id())
	}
	var got []mail
	x.eventually(fmt.Sprintf("%d messages were sent, and not all of them are read", n), func() bool {
		got = x.fetch(at, earliest...)
		return len(got) == n
	})
	for i, id := range ids {
		if j := slices.IndexFunc(got, func(m mail) bool { return m.ID == id }); j < 0 || got[j].Payload != fmt.Sprintf("m%d", i) {
			x.Violates("the message m%d was stored as %d, and is not read under it", i, id)
		}
	}
}

func inTurn(x *exam) {
	const n = 64
	at, calls, want := x.create("a"), []call{}, []string{}
	for i := range n {
		want = append(want, fmt.Sprintf("m%d", i))
		calls = append(calls, x.sending(x.out(), at, want[i]))
	}
	for _, k := range calls {
		x.stored(at, k)
	}
	x.fetches("sent on one connection, one behind the other", at, earliest, want...)
}

func errorField(x *exam) {
	at := x.create("a")
	id := x.send(at, "m")
	for _, ask := range []struct {
		subject string
		body    []byte
	}{
		{subjectCreate, x.body("name", x.address("b"), "ttl", mailboxTTL)},
		{subjectCreate, x.body("name", at)},
		{subjectSend + at, []byte("m")},
		{subjectSend + x.address("nobody"), []byte("m")},
		{subjectFetch + at, []byte("{}")},
		{subjectFetch + x.address("nobody"), []byte("{}")},
		{subjectAck + at, x.body("group_name", x.own("g"), "mail_address", at, "msg_id", id)},
		{subjectQuery + at, []byte("{}")},
		{subjectQuery + x.address("nobody"), []byte("{}")},
		{fmt.Sprintf("%s%s.%d", subjectDelete, at, id), nil},
	} {
		r := x.out().ask(ask.subject, ask.body)
		if _, there := r.object["error"]; !there {
			x.Violates("%s is answered by %s, without a field error", ask.subject, r)
		}
	}
}

func oneReply(x *exam) {
	at := x.create("a")
	id := x.send(at, "m")
	x.fetches("sent", at, x.group("g"), "m")
	x.ack(at, "g", id)
	x.query(at)
	x.After(4 * lookAgain)
	for _, c := range []*client{x.out(), x.in()} {
		c.mu.Lock()
		twice := slices.Clone(c.twice)
		c.mu.Unlock()
		if len(twice) > 0 {
			x.Violates("a request has %d replies, the second: %s", len(twice)+1, clip(string(twice[0].data)))
		}
	}
}

func unknownRequest(x *exam) {
	for _, subject := range []string{"$mq9.AI.MAILBOX.REMOVE", "$mq9.AI.MSG.PEEK." + x.address("a"), "$mq9.AI.NOTHING"} {
		k := x.dial("client", x.from).request(subject, []byte("{}")) // whose -ERR is about this one
		r, ok := reply{}, false
		x.eventually("neither a reply nor -ERR came to "+subject, func() bool {
			r, ok = k.tryReply(lookAgain)
			k.c.mu.Lock()
			defer k.c.mu.Unlock()
			return ok || len(k.c.errors) > 0
		})
		if ok && !r.failed() {
			x.Violates("%s is answered by %s", subject, r)
		}
	}
}

func malformed(x *exam) {
	at := x.create("a")
	for _, body := range []string{"{", "[]", `"text"`, "\x00\xff", `{"name":` + strings.Repeat("[", 2000)} {
		for _, subject := range []string{subjectCreate, subjectFetch + at, subjectAck + at, subjectQuery + at, subjectRegister, subjectDiscover} {
			x.out().refused(subject, []byte(body))
		}
	}
	x.send(at, "m")
	x.fetches("after requests that are no JSON", at, earliest, "m")
}
