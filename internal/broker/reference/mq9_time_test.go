package reference

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A message is there until its time is over, and not any more afterwards; one
// that is delayed is not there before.
func TestMQ9MessagesHaveTheirTime(t *testing.T) {
	c := newMQ9Client(t, startNodes(t, 1)[0])
	c.fine("MAILBOX.CREATE", `{"name":"box"}`)
	const ttl = 3 * time.Second
	begin := time.Now()
	for _, m := range [][]string{
		{"stays"}, {"short", "mq9-ttl", "3"}, {"later", "mq9-delay", "1"}, {"last"},
		{"never", "mq9-delay", "2", "mq9-ttl", "1"},
	} {
		if r, delayed := c.fine("MSG.SEND.box", m[0], m[1:]...), len(m) > 1 && m[1] == "mq9-delay"; (r.ID == -1) != delayed {
			t.Errorf("%q: %+v", m, r)
		}
	}
	sent := time.Now()
	for {
		before := time.Now()
		now := c.payloads("box", "g")
		after := time.Now()
		if slices.Contains(now, "later") && after.Sub(begin) < time.Second {
			t.Fatalf("%q after %v: a delayed message before it is due", now, after.Sub(begin))
		}
		if short := slices.Contains(now, "short"); !short && after.Sub(begin) < ttl || short && before.Sub(sent) > ttl {
			t.Fatalf("%q between %v and %v: a message that lasts %v", now, before.Sub(begin), after.Sub(begin), ttl)
		}
		if before.Sub(sent) > ttl && slices.Contains(now, "later") {
			c.same("in the end", now, "stays", "last", "later")
			break
		}
		if before.Sub(sent) > testBound {
			t.Fatalf("%q: a delayed message did not come", now)
		}
	}
}

// A group may acknowledge a message shortly after its time is over, if it fetched it
// in time.
func TestMQ9AcknowledgesWhatIsOver(t *testing.T) {
	c := newMQ9Client(t, startNodes(t, 1)[0])
	c.fine("MAILBOX.CREATE", `{"name":"box"}`)
	c.fine("MSG.SEND.box", "first")
	r := c.fine("MSG.SEND.box", "second", "mq9-ttl", "1")
	until(t, "its time is over", func() bool { return len(c.payloads("box", "g")) == 1 })
	c.fine("MSG.ACK.box", fmt.Sprintf(`{"group_name":"g","mail_address":"box","msg_id":%d}`, r.ID))
	c.same("after the acknowledgement", c.payloads("box", "g"))
	if r := c.ask(fmt.Sprintf("MSG.DELETE.box.%d", r.ID), ""); r.Error != "message not found" {
		t.Errorf("delete one that is over: %+v", r)
	}
}

// When a mailbox is over, so are its messages and the positions of its groups:
// another one of its name begins anew.
func TestMQ9MailboxIsOver(t *testing.T) {
	nodes := startNodes(t, 1)
	c := newMQ9Client(t, nodes[0])
	for body, want := range map[string]string{
		`{"name":"for.ever","ttl":0}`: "", `{"name":"a.day"}`: "", `{"name":"short","ttl":2}`: "",
		`{"name":"x","ttl":-1}`: "invalid MAILBOX.CREATE payload: json: cannot unmarshal number -1 into Go struct field createRequest.ttl of type uint64",
	} {
		if r := c.ask("MAILBOX.CREATE", body); r.Error != want {
			t.Errorf("%s: %q", body, r.Error)
		}
	}
	const gone = "mailbox short does not exist"
	var last int64
	until(t, "the mailbox is over", func() bool {
		r := c.ask("MSG.SEND.short", "old")
		if r.Error != "" && r.Error != gone {
			t.Fatal(r.Error)
		}
		if r.Error == "" {
			last = r.ID
			c.ask("MSG.ACK.short", fmt.Sprintf(`{"group_name":"g","mail_address":"short","msg_id":%d}`, r.ID))
		}
		return r.Error == gone
	})
	if last == 0 {
		t.Error("no message was ever taken")
	}
	for _, subject := range []string{"MSG.FETCH.short", "MSG.QUERY.short", "MSG.DELETE.short.1"} {
		if r := c.ask(subject, "{}"); r.Error != gone {
			t.Errorf("%s: %+v", subject, r)
		}
	}
	nodes[0].cmd.Process.Kill()
	nodes[0].cmd.Wait()
	nodes[0].start(t)
	c = newMQ9Client(t, nodes[0])
	until(t, "it serves again", func() bool {
		r, err := c.try("MAILBOX.CREATE", `{"name":"short"}`)
		return err == nil && r.Error == ""
	})
	c.same("of the one before", c.payloads("short", "g"))
	c.fine("MSG.SEND.short", "new")
	c.same("the new one", c.payloads("short", "g"), "new")
	c.fine("MSG.SEND.for.ever", "x")
}
