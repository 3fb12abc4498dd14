package mq9

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robustmq/rmq-mcp/conformance"
)

// Subjects of requests, protocol.md#protocol-overview.
const (
	subjectCreate     = "$mq9.AI.MAILBOX.CREATE"
	subjectSend       = "$mq9.AI.MSG.SEND."
	subjectFetch      = "$mq9.AI.MSG.FETCH."
	subjectAck        = "$mq9.AI.MSG.ACK."
	subjectQuery      = "$mq9.AI.MSG.QUERY."
	subjectDelete     = "$mq9.AI.MSG.DELETE."
	subjectRegister   = "$mq9.AI.AGENT.REGISTER"
	subjectUnregister = "$mq9.AI.AGENT.UNREGISTER"
	subjectReport     = "$mq9.AI.AGENT.REPORT"
	subjectDiscover   = "$mq9.AI.AGENT.DISCOVER"
)

// mailboxTTL is for how many seconds a mailbox of a check lives: the protocol has
// no request to remove one.
const mailboxTTL = 300

// An exam is a trial of one check.
type exam struct {
	conformance.Trial
	statement      string // its name
	plains         int    // mailboxes in which nothing is special
	from, to       string // addresses: of the senders' node, and of the readers'
	user, password string
	wait           time.Duration // how long a reply is waited for, and an effect
	token          string        // every address and name of the check begins with it

	connections atomic.Int64
	mu          sync.Mutex
	clients     []*client
	agents      [][]byte        // what unregisters those that are registered
	sent        map[string]bool // payloads
	until       time.Time       // a violation that is seen later is none: the check was too slow to tell

	sender, reader *client
}

func newExam(o conformance.Options, n int) *exam {
	return &exam{from: o.From, to: o.To, user: o.User, password: o.Password, wait: o.Wait, token: conformance.Token(n), sent: map[string]bool{}}
}

// Violates ends the check, as of a Trial, unless it was too slow.
func (x *exam) Violates(format string, args ...any) {
	if !x.until.IsZero() && time.Now().After(x.until) {
		x.Undecided("the broker or this machine is slow: "+format, args...)
	}
	x.Trial.Violates(format, args...)
}

// clean takes back what the check left on the broker, and can be taken back.
func (x *exam) clean() {
	defer func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, c := range x.clients {
			c.conn.Close()
		}
	}()
	if x.sender == nil || x.Ctx.Err() != nil {
		return
	}
	var calls []call
	for _, body := range x.agents {
		calls = append(calls, x.sender.request(subjectUnregister, body))
	}
	for _, k := range calls {
		k.tryReply(time.Second)
	}
}

// out is the connection that mailboxes are made and messages are sent on, in the
// one that they are read on.
func (x *exam) out() *client {
	if x.sender == nil {
		x.sender = x.dial("sender", x.from)
	}
	return x.sender
}

func (x *exam) in() *client {
	if x.reader == nil {
		x.reader = x.dial("reader", x.to)
	}
	return x.reader
}

// address is one that is the check's own.
func (x *exam) address(name string) string { return x.token + "." + name }

// own is a name of a group, a key or a tag that no other check has: a broker that
// confuses those of several mailboxes violates one statement, and not all.
func (x *exam) own(name string) string { return x.token + "-" + name }

// body is an object of names and values.
func (x *exam) body(fields ...any) []byte {
	object := map[string]any{}
	for i := 0; i+1 < len(fields); i += 2 {
		object[fields[i].(string)] = fields[i+1]
	}
	text, err := json.Marshal(object)
	if err != nil {
		x.Undecided("encode a request: %v", err)
	}
	return text
}

// serves is that a new connection is served: of a broker that serves nobody a check
// learns nothing.
func (x *exam) serves(address string) {
	c := x.dial("witness", address)
	if _, ok := c.request(subjectCreate, x.body("name", x.address(fmt.Sprintf("witness%d", len(x.clients))), "ttl", mailboxTTL)).tryReply(x.wait); !ok {
		x.Undecided("a new connection has no reply to a request either, in %v: the broker serves nobody", x.wait)
	}
}

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
// that one's statement says so, and not the check's.
func (c *client) needs(subject string, body []byte, plains ...plain) reply {
	var r reply
	done := func() bool { r = c.ask(subject, body); return !r.failed() }
	if c.x.soon(c.x.wait, done) {
		return r
	}
	address := c.plainMailbox()
	for _, p := range plains {
		if c.x.statement != p.see && !c.x.soon(c.x.wait, func() bool { return !p.ask(address).failed() }) {
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

// eventually is that something is so within Options.Wait.
func (x *exam) eventually(otherwise string, try func() bool) {
	if !x.soon(x.wait, try) {
		x.serve()
		x.Violates("%s, in %v", otherwise, x.wait)
	}
}

// over is that something has ended some time after its own time was over, for which
// the pages give no bound.
func (x *exam) over(otherwise string, try func() bool) {
	if bound := 9 * x.wait; !x.soon(bound, try) {
		x.serve()
		x.Violates("%s, %v after it was", otherwise, bound)
	}
}

// serve is that both nodes serve.
func (x *exam) serve() {
	x.serves(x.from)
	if x.to != x.from {
		x.serves(x.to)
	}
}

// lookAgain is between two looks.
const lookAgain = 50 * time.Millisecond

func (x *exam) soon(wait time.Duration, try func() bool) bool {
	for deadline := time.Now().Add(wait); !try(); x.After(lookAgain) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
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

// Fields of FETCH.

var earliest = []any{"deliver", "earliest"}

// group reads as a group of the check, from the earliest message on.
func (x *exam) group(name string, fields ...any) []any {
	return append([]any{"group_name", x.own(name), "deliver", "earliest"}, fields...)
}

// most is a config that asks for so many messages.
func most(n int) map[string]any { return map[string]any{"num_msgs": n, "max_wait_ms": 0} }

// fetch reads what is there now.
func (c *client) fetch(address string, fields ...any) []mail {
	all := append([]any{"config", most(100)}, fields...)
	plains := []plain{c.plainFetch()}
	if slices.Contains(fields, any("group_name")) {
		plains = append(plains, c.plainGroup())
	}
	return c.x.mails(c.needs(subjectFetch+address, c.x.body(all...), plains...))
}

func (c *client) plainFetch() plain {
	return plain{"fetch/earliest", func(address string) reply {
		return c.ask(subjectFetch+address, c.x.body("config", most(100), "deliver", "earliest"))
	}}
}

func (c *client) plainGroup() plain {
	return plain{"group/begins", func(address string) reply {
		return c.ask(subjectFetch+address, c.x.body(c.x.group("plain", "config", most(1))...))
	}}
}

func (x *exam) fetch(address string, fields ...any) []mail { return x.in().fetch(address, fields...) }

// query looks at what is there now.
func (x *exam) query(address string, fields ...any) []mail {
	return x.mails(x.in().needs(subjectQuery+address, x.body(fields...), plain{"query/all", func(address string) reply {
		return x.in().ask(subjectQuery+address, []byte("{}"))
	}}))
}

// queries is that QUERY finds these messages, in whatever order.
func (x *exam) queries(why, address string, fields []any, want ...string) []mail {
	slices.Sort(want)
	return x.shows(why+", by QUERY", func() []mail {
		all := x.query(address, fields...)
		slices.SortFunc(all, func(a, b mail) int { return strings.Compare(a.Payload, b.Payload) })
		return all
	}, want...)
}

// tagged is that QUERY finds these messages by a tag. The pages do not say how tags
// are in JSON: as a list, or as the header has them.
func (x *exam) tagged(address, tag string, want ...string) {
	form := any([]string{tag})
	if r := x.in().ask(subjectQuery+address, x.body("tags", form)); r.failed() {
		form = tag
	}
	x.queries("by the tag "+tag, address, []any{"tags", form}, want...)
}

// ack acknowledges for a group, up to a message.
func (c *client) ack(address, group string, id int64) {
	body := func(address, group string, id int64) []byte {
		return c.x.body("group_name", c.x.own(group), "mail_address", address, "msg_id", id)
	}
	inGroup := c.plainGroup()
	c.needs(subjectAck+address, body(address, group, id), c.plainFetch(), inGroup, plain{"ack/batch", func(address string) reply {
		r := inGroup.ask(address)
		if r.failed() {
			return r
		}
		if all := c.x.mails(r); len(all) > 0 {
			id = all[0].ID
		}
		return c.ask(subjectAck+address, body(address, "plain", id))
	}})
}

func (x *exam) ack(address, group string, id int64) { x.in().ack(address, group, id) }

// payloadsOf are what messages say.
func payloadsOf(all []mail) []string {
	var said []string
	for _, m := range all {
		said = append(said, m.Payload)
	}
	return said
}

// shows checks that a read returns these messages in this order. A message sent
// on one node may take a while to be seen on another one.
func (x *exam) shows(why string, read func() []mail, want ...string) []mail {
	var got []mail
	if !x.soon(x.wait, func() bool { got = read(); return slices.Equal(payloadsOf(got), want) }) {
		x.serve()
		x.are(why, got, want...)
	}
	return got
}

// are is that messages are these, in this order, once they have been there.
func (x *exam) are(why string, got []mail, want ...string) {
	if !slices.Equal(payloadsOf(got), want) {
		x.Violates("%s: expected %s, got %s", why, list(want), list(payloadsOf(got)))
	}
}

// fetches is shows of a FETCH.
func (x *exam) fetches(why, address string, fields []any, want ...string) []mail {
	return x.shows(why, func() []mail { return x.fetch(address, fields...) }, want...)
}

// list shows payloads, the first of many.
func list(all []string) string {
	const shown = 12
	var said []string
	for _, s := range all[:min(len(all), shown)] {
		said = append(said, clip(s))
	}
	if len(all) > shown {
		said = append(said, fmt.Sprintf("… (%d in all)", len(all)))
	}
	return "[" + strings.Join(said, " ") + "]"
}
