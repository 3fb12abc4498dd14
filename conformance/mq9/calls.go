package mq9

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A reply is what came for a request.
type reply struct {
	raw     []byte
	object  map[string]json.RawMessage // nil where it is no JSON object
	subject string                     // of the request
	sid     string                     // that it came with
}

// failed reports whether the broker says that it did not do it.
func (r reply) failed() bool { return r.object == nil || r.text("error") != "" }

// text is a field that is a string, "" where there is none.
func (r reply) text(field string) string {
	var s string
	json.Unmarshal(r.object[field], &s)
	return s
}

// id is msg_id, -2 where there is none.
func (r reply) id() int64 {
	id := int64(-2)
	json.Unmarshal(r.object["msg_id"], &id)
	return id
}

func (r reply) String() string { return clip(string(r.raw)) }

// A mail is one entry of messages.
type mail struct {
	ID       int64  `json:"msg_id"`
	Payload  string `json:"payload"`
	Priority string `json:"priority"`
	Created  int64  `json:"create_time"` // seconds
}

// mails are the messages of a reply. The protocol does not say how a payload is in
// JSON: as text, or in base64, which the vendor's libraries try first.
func (x *exam) mails(r reply) []mail {
	var all []mail
	json.Unmarshal(r.object["messages"], &all)
	for i, m := range all {
		if decoded, err := base64.StdEncoding.DecodeString(m.Payload); err == nil && !x.sent[m.Payload] && x.sent[string(decoded)] {
			all[i].Payload = string(decoded)
		}
	}
	return all
}

// request sends a request and returns where its reply comes.
func (c *client) request(subject string, body []byte, headers ...string) call {
	k, at := c.expect(subject)
	c.publish(subject, at, body, headers...)
	return k
}

// expect makes a subject for the reply to a request.
func (c *client) expect(subject string) (k call, at string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	at = fmt.Sprintf("%s.%d", c.inbox, c.asked)
	on := make(chan message, 1)
	c.waiting[at] = on
	return call{c, subject, on}, at
}

// A call is a request that waits for its reply.
type call struct {
	c       *client
	subject string
	on      chan message
}

// reply waits for the reply. Every request has one, so none is a violation where
// another connection is served meanwhile.
func (k call) reply() reply {
	r, ok := k.tryReply(k.c.x.wait)
	if !ok {
		k.c.missing(k.subject)
	}
	return r
}

func (k call) tryReply(wait time.Duration) (reply, bool) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	if !k.c.still {
		defer k.c.nudging()()
	}
	select {
	case m := <-k.on:
		return replyOf(k.subject, m), true
	case <-k.c.gone:
	case <-timer.C:
	case <-k.c.x.Ctx.Done():
		k.c.x.Undecided("the check was stopped: %v", k.c.x.Ctx.Err())
	}
	select {
	case m := <-k.on: // came last
		return replyOf(k.subject, m), true
	default:
		return reply{}, false
	}
}

func replyOf(subject string, m message) reply {
	r := reply{raw: m.data, subject: subject, sid: m.sid}
	json.Unmarshal(m.data, &r.object)
	return r
}

// missing decides what it means that a request has no reply.
func (c *client) missing(subject string) {
	c.x.serves(c.address)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stuck != nil {
		c.x.Undecided("%s: the broker does not take what is sent: %v", c.name, c.stuck)
	}
	why := ""
	if len(c.errors) > 0 {
		why = "; it says " + strings.Join(c.errors, ", ")
	}
	if errors.Is(c.lost, errMalformed) {
		c.x.Violates("%s: %v", c.name, c.lost)
	}
	if c.lost != nil {
		c.x.Violates("%s: the broker closed the connection (%v) instead of replying to %s%s", c.name, c.lost, subject, why)
	}
	c.x.Violates("%s: no reply to %s in %v, while another connection is served%s", c.name, subject, c.x.wait, why)
}
