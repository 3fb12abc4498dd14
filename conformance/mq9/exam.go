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
		x.Undecided("a new connection has no reply to a request either, in %v: the broker serves no client", x.wait)
	}
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
	c.needs(subjectAck+address, body(address, group, id), c.plainFetch(), inGroup, plain{c.either("ack/batch", "group/workers"), func(address string) reply {
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
