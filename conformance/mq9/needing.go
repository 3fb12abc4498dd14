package mq9

import (
	"fmt"
	"slices"
)

// ask makes one request.
func (c *client) ask(subject string, body []byte, headers ...string) reply {
	return c.request(subject, body, headers...).reply()
}

// A plain request is the like of another one, of a mailbox and a group in which nothing
// is special. It belongs to a statement.
type plain struct {
	see string // the statement's name
	ask func(address string) reply
}

// needs makes a request that nearly every check makes. A node may carry it out only a
// while later. Where it is refused for good, so may be a plain one of a new mailbox: then
// that one's statement says so, and not the check's. In a check of that statement the
// request was a plain one itself.
func (c *client) needs(subject string, body []byte, plains ...plain) reply {
	var r reply
	done := func() bool { r = c.ask(subject, body); return !r.failed() }
	if c.x.soon(c.x.wait, done) {
		return r
	}
	plains = slices.DeleteFunc(plains, func(p plain) bool { return p.see == c.x.statement })
	if len(plains) == 0 {
		c.x.Violates("%s is answered by %s, for %v", subject, r, c.x.wait)
	}
	address := c.plainMailbox()
	for _, p := range plains {
		if !c.x.soon(c.x.wait, func() bool { return !p.ask(address).failed() }) {
			c.x.Undecided("%s is answered by %s, as is a plain one; see %s", subject, r, p.see)
		}
	}
	if !done() {
		c.x.Violates("%s is answered by %s, for %v and while plain ones are carried out", subject, r, c.x.wait)
	}
	return r
}

// plainMailbox makes a mailbox with one plain message, where the client is. A broker that
// refuses that refuses to read it, too.
func (c *client) plainMailbox() string {
	c.x.plains++
	address := c.x.address(fmt.Sprintf("plain%d", c.x.plains))
	c.x.sent["plain"] = true
	c.x.soon(c.x.wait, func() bool { return !c.ask(subjectCreate, c.x.mailbox(address)).failed() })
	c.x.soon(c.x.wait, func() bool { return !c.ask(subjectSend+address, []byte("plain")).failed() })
	return address
}

// done makes a request that must be carried out.
func (c *client) done(subject string, body []byte, headers ...string) reply {
	r := c.ask(subject, body, headers...)
	if r.failed() {
		c.x.Violates("%s is answered by %s", subject, r)
	}
	return r
}

// refused makes a request that must not be carried out.
func (c *client) refused(subject string, body []byte, headers ...string) reply {
	r := c.ask(subject, body, headers...)
	if !r.failed() {
		c.x.Violates("%s %s is carried out: %s", subject, clip(string(body)), r)
	}
	return r
}

// create makes a mailbox that the check needs, and returns when both nodes know it. That
// they do is what send/nodes says.
func (x *exam) create(name string, fields ...any) string {
	address := x.make(name, fields...)
	x.known(address)
	return address
}

// known is that the readers' node knows a mailbox that the check needs.
func (x *exam) known(address string) {
	if !x.soon(x.wait, func() bool { return x.knows(address) }) {
		x.serve()
		x.Undecided("mailbox %s is not known where it is read, in %v; see send/nodes", address, x.wait)
	}
}

// make makes a mailbox that the check needs. That one can be made is what create/reply
// says.
func (x *exam) make(name string, fields ...any) string {
	address := x.address(name)
	r, ok := x.out().request(subjectCreate, x.mailbox(address, fields...)).tryReply(x.wait)
	switch {
	case !ok:
		x.serves(x.from)
		x.Undecided("no reply to %s in %v, so that there is no mailbox to look at; see create/reply", subjectCreate, x.wait)
	case r.failed():
		x.Undecided("%s is answered by %s, so that there is no mailbox to look at; see create/reply", subjectCreate, r)
	}
	return address
}

// createAs makes a mailbox that must be made as it is asked for, where a plain one can
// be made.
func (x *exam) createAs(name string, fields ...any) string {
	address := x.address(name)
	if r := x.out().ask(subjectCreate, x.mailbox(address, fields...)); r.failed() {
		x.create("plain")
		x.Violates("%s is answered by %s, and a plain mailbox is made", subjectCreate, r)
	}
	if !x.knows(address) {
		x.create("plain")
		x.eventually(fmt.Sprintf("mailbox %s is not known where it is read, and a plain one is", address), func() bool { return x.knows(address) })
	}
	return address
}

// mailbox is the body of a request that makes one.
func (x *exam) mailbox(address string, fields ...any) []byte {
	return x.body(append([]any{"name", address, "ttl", mailboxTTL}, fields...)...)
}

// knows reports whether the readers' node knows a mailbox now.
func (x *exam) knows(address string) bool {
	return !x.in().ask(subjectQuery+address, []byte("{}")).failed()
}

// send sends a message that the check needs, and returns its id. That a plain one is
// stored is what send/id says.
func (x *exam) send(address, payload string, headers ...string) int64 {
	if len(headers) > 0 {
		return x.sendAs(address, payload, headers...)
	}
	k := x.sending(x.out(), address, payload)
	r := k.reply()
	if r.failed() {
		x.Undecided("%s is answered by %s, so that there is no message to look at; see send/id", k.subject, r)
	}
	return r.id()
}

// sendAs sends a message that must be stored as it is, where a plain one is stored, and
// returns its id.
func (x *exam) sendAs(address, payload string, headers ...string) int64 {
	return x.stored(address, x.sending(x.out(), address, payload, headers...)).id()
}

// sending sends a message and does not wait.
func (x *exam) sending(c *client, address, payload string, headers ...string) call {
	x.sent[payload] = true
	return c.request(subjectSend+address, []byte(payload), headers...)
}

// stored is that a message was stored, where a plain one is.
func (x *exam) stored(address string, k call) reply {
	r := k.reply()
	if r.failed() {
		x.send(address, "plain")
		x.Violates("%s is answered by %s, and a plain message is stored", k.subject, r)
	}
	return r
}

// sendAll sends messages one after the other.
func (x *exam) sendAll(address string, payloads ...string) (ids []int64) {
	for _, p := range payloads {
		ids = append(ids, x.send(address, p))
	}
	return ids
}

// either returns the statement that says something of the readers' node, or the one that says
// it of the other node, whichever the client is at.
func (c *client) either(reading, other string) string {
	if c.address == c.x.to {
		return reading
	}
	return other
}

func (c *client) plainFetch() plain {
	return plain{c.either("fetch/earliest", "send/nodes"), func(address string) reply {
		return c.ask(subjectFetch+address, c.x.body("config", most(100), "deliver", "earliest"))
	}}
}

func (c *client) plainGroup() plain {
	return plain{c.either("group/begins", "group/nodes"), func(address string) reply {
		return c.ask(subjectFetch+address, c.x.body(c.x.group("plain", "config", most(1))...))
	}}
}
