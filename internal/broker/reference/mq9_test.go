package reference

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// mq9Client asks as an application would.
type mq9Client struct {
	t  *testing.T
	nc *nats.Conn
}

func newMQ9Client(t *testing.T, n *testNode) mq9Client {
	t.Helper()
	var nc *nats.Conn
	until(t, n.config.Name+" takes clients", func() (ok bool) {
		var err error
		nc, err = nats.Connect(fmt.Sprintf("nats://127.0.0.1:%d", n.config.NATSPort))
		return err == nil
	})
	t.Cleanup(nc.Close)
	return mq9Client{t, nc}
}

type mq9Reply struct {
	Error    string
	Address  string `json:"mail_address"`
	ID       int64  `json:"msg_id"`
	Messages []struct {
		ID       int64 `json:"msg_id"`
		Payload  string
		Priority string
	}
	Agents []struct {
		Name string
		Info string `json:"agent_info"`
	}
}

func (c mq9Client) try(subject, body string, header ...string) (mq9Reply, error) {
	m := nats.NewMsg("$mq9.AI." + subject)
	m.Data = []byte(body)
	for i := 0; i+1 < len(header); i += 2 {
		m.Header.Set(header[i], header[i+1])
	}
	var out mq9Reply
	answer, err := c.nc.RequestMsg(m, 5*time.Second) // to a node that dies it is lost, and asked again
	if err == nil {
		err = json.Unmarshal(answer.Data, &out)
	}
	return out, err
}

func (c mq9Client) ask(subject, body string, header ...string) mq9Reply {
	c.t.Helper()
	out, err := c.try(subject, body, header...)
	if err != nil {
		c.t.Fatalf("%s: %v", subject, err)
	}
	return out
}

// payloads of what a group fetches.
func (c mq9Client) payloads(mailbox, group string) (all []string) {
	c.t.Helper()
	body := fmt.Sprintf(`{"group_name":%q,"deliver":"earliest","config":{"max_wait_ms":0}}`, group)
	for _, m := range c.ask("MSG.FETCH."+mailbox, body).Messages {
		all = append(all, m.Payload)
	}
	return all
}

func (c mq9Client) same(what string, got []string, want ...string) {
	c.t.Helper()
	if !slices.Equal(got, want) {
		c.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// fine asks what must not be refused.
func (c mq9Client) fine(subject, body string, header ...string) mq9Reply {
	c.t.Helper()
	r := c.ask(subject, body, header...)
	if r.Error != "" {
		c.t.Fatalf("%s: %s", subject, r.Error)
	}
	return r
}

func TestMQ9(t *testing.T) {
	c := newMQ9Client(t, startNodes(t, 1)[0])
	same := c.same
	if r := c.ask("MAILBOX.CREATE", `{"name":"a.b"}`); r.Address != "a.b" || r.Error != "" {
		t.Fatalf("create: %+v", r)
	}
	for body, want := range map[string]string{
		`{"name":"a.b"}`:  "mailbox a.b already exists",
		`{"name":"A"}`:    "name may only contain lowercase letters, digits, and dots, must start and end with a lowercase letter or digit, and has at most 128 of them",
		`{"name":"a..b"}`: "name may only contain lowercase letters, digits, and dots, must start and end with a lowercase letter or digit, and has at most 128 of them",
	} {
		if r := c.ask("MAILBOX.CREATE", body); r.Error != want {
			t.Errorf("create %s: %q, want %q", body, r.Error, want)
		}
	}
	if r := c.ask("MSG.SEND.nobody", "x"); r.Error != "mailbox nobody does not exist" {
		t.Errorf("send to no mailbox: %+v", r)
	}
	if r := c.ask("PUBLIC.LIST", ""); r.Error != "unrecognized mq9 subject: $mq9.AI.PUBLIC.LIST" {
		t.Errorf("an old subject: %+v", r)
	}
	for i, p := range []string{"normal", "critical", "urgent", "normal", "critical"} {
		if r := c.ask("MSG.SEND.a.b", fmt.Sprintf("%d %s", i, p), "mq9-priority", p, "mq9-tags", "t"+p); r.Error != "" || r.ID <= 0 {
			t.Fatalf("send: %+v", r)
		}
	}
	all := []string{"1 critical", "4 critical", "2 urgent", "0 normal", "3 normal"}
	same("a group", c.payloads("a.b", "g"), all...)
	same("without an acknowledgement, again", c.payloads("a.b", "g"), all...)
	first := c.ask("MSG.FETCH.a.b", `{"group_name":"g","config":{"num_msgs":1}}`).Messages
	if len(first) != 1 || first[0].Payload != all[0] {
		t.Fatalf("one message: %+v", first)
	}
	if r := c.ask("MSG.ACK.a.b", fmt.Sprintf(`{"group_name":"g","mail_address":"a.b","msg_id":%d}`, first[0].ID)); r.Error != "" {
		t.Errorf("acknowledge: %+v", r)
	}
	same("after an acknowledgement", c.payloads("a.b", "g"), all[1:]...)
	same("another group", c.payloads("a.b", "h"), all...)
	if r := c.ask("MSG.FETCH.a.b", `{"group_name":"late","config":{"max_wait_ms":1}}`); len(r.Messages) != 0 {
		t.Errorf("latest: %+v", r.Messages)
	}
	if r := c.ask("MSG.QUERY.a.b", `{"tags":["turgent"]}`); len(r.Messages) != 1 || r.Messages[0].Payload != "2 urgent" {
		t.Errorf("query: %+v", r.Messages)
	}
	c.ask(fmt.Sprintf("MSG.DELETE.a.b.%d", first[0].ID), "")
	same("after it was deleted", c.payloads("a.b", "h"), all[1:]...)
	for _, subject := range []string{fmt.Sprintf("MSG.DELETE.a.b.%d", first[0].ID), "MSG.DELETE.a.b.999"} {
		if r := c.ask(subject, ""); r.Error != "message not found" {
			t.Errorf("%s: %+v", subject, r)
		}
	}
}

// Messages, mailboxes and agents that were answered survive the death of any node.
func TestMQ9SurvivesANode(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	nodes := startNodes(t, 3)
	c := newMQ9Client(t, nodes[0])
	until(t, "the mailbox is made", func() bool {
		r, err := c.try("MAILBOX.CREATE", `{"name":"box"}`)
		return err == nil && (r.Error == "" || r.Error == "mailbox box already exists")
	})
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint(i))
		if r := c.ask("MSG.SEND.box", want[i]); r.Error != "" {
			t.Fatalf("send: %+v", r)
		}
	}
	c.fine("MSG.SEND.box", "later", "mq9-delay", "2")
	c.fine("MSG.SEND.box", "over", "mq9-ttl", "1")
	c.fine("MAILBOX.CREATE", `{"name":"short","ttl":1}`)
	c.fine("AGENT.REGISTER", `{"name":"one"}`)
	nodes[0].cmd.Process.Kill()
	other := newMQ9Client(t, nodes[1])
	until(t, "another node answers", func() bool {
		r, err := other.try("AGENT.DISCOVER", "")
		return err == nil && len(r.Agents) == 1
	})
	want = append(want, "later")
	until(t, "all is there that is to be", func() bool {
		r, err := other.try("MSG.FETCH.box", `{"group_name":"g","deliver":"earliest"}`)
		return err == nil && slices.Equal(payloadsOf(r), want)
	})
	until(t, "a mailbox is over", func() bool {
		r, err := other.try("MSG.SEND.short", "x")
		return err == nil && r.Error == "mailbox short does not exist"
	})
	other.same("what was delayed comes once", other.payloads("box", "h"), want...)
}
