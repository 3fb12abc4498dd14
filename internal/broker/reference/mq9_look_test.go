package reference

import (
	"encoding/json"
	"fmt"
	"testing"
)

func payloadsOf(r mq9Reply) (all []string) {
	for _, m := range r.Messages {
		all = append(all, m.Payload)
	}
	return all
}

// A mailbox keeps only the last message of each key, whatever its priority.
func TestMQ9Keys(t *testing.T) {
	c := newMQ9Client(t, startNodes(t, 1)[0])
	c.fine("MAILBOX.CREATE", `{"name":"box"}`)
	c.fine("MSG.SEND.box", "1", "mq9-key", "a", "mq9-priority", "critical")
	c.fine("MSG.SEND.box", "2", "mq9-key", "b")
	c.fine("MSG.SEND.box", "3")
	c.same("one of each", c.payloads("box", "early"), "1", "2", "3")
	c.fine("MSG.SEND.box", "4", "mq9-key", "a")
	c.fine("MSG.SEND.box", "5", "mq9-key", "a", "mq9-delay", "1")
	c.same("the last of each", c.payloads("box", "g"), "2", "3", "4")
	until(t, "a delayed one replaces it", func() bool {
		return len(payloadsOf(c.fine("MSG.QUERY.box", `{"key":"a"}`))) == 1 && payloadsOf(c.fine("MSG.QUERY.box", `{"key":"a"}`))[0] == "5"
	})
	c.same("the last of each", c.payloads("box", "early"), "2", "3", "5")
	c.same("no key", payloadsOf(c.fine("MSG.QUERY.box", `{"key":"z"}`)))
}

// A query finds by key, tags and time, moves no group, and answers the last.
func TestMQ9Query(t *testing.T) {
	c := newMQ9Client(t, startNodes(t, 1)[0])
	c.fine("MAILBOX.CREATE", `{"name":"box"}`)
	for i := range 5 {
		c.fine("MSG.SEND.box", fmt.Sprint(i), "mq9-tags", fmt.Sprintf("all, t%d", i%2))
	}
	c.fine("MSG.SEND.box", "over", "mq9-ttl", "0")
	for body, want := range map[string][]string{
		`{}`: {"0", "1", "2", "3", "4"}, ``: {"0", "1", "2", "3", "4"},
		`{"limit":2}`: {"3", "4"}, `{"tags":["t1"]}`: {"1", "3"}, `{"tags":["t1","t0"],"limit":1}`: {"4"},
		`{"tags":["t"]}`: nil, `{"since":99999999999}`: nil, `{"since":1}`: {"0", "1", "2", "3", "4"},
	} {
		c.same("query "+body, payloadsOf(c.fine("MSG.QUERY.box", body)), want...)
	}
	c.same("no group was moved", c.payloads("box", "g"), "0", "1", "2", "3", "4")
}

func TestMQ9Agents(t *testing.T) {
	c := newMQ9Client(t, startNodes(t, 1)[0])
	names := func(body string) (all []string) {
		for _, a := range c.fine("AGENT.DISCOVER", body).Agents {
			all = append(all, a.Name)
		}
		return all
	}
	for _, card := range []string{
		`{"name":"pay","description":"Payment and invoice"}`, `{"mailbox":"mq9://broker/agent.translator"}`, `{"name":"ship","payload":"sends parcels"}`,
		`{"name":"pay","description":"Payment of an invoice"}`,
	} {
		c.fine("AGENT.REGISTER", card)
	}
	c.same("all", names(""), "mq9://broker/agent.translator", "ship", "pay")
	c.same("by words", names(`{"text":"INVOICE parcels"}`), "ship", "pay")
	c.same("the second page", names(`{"text":"invoice parcels","limit":1,"page":2}`), "pay")
	c.same("a page that is not there", names(`{"text":"invoice","page":9000000000000000000}`))
	if a := c.fine("AGENT.DISCOVER", `{"text":"parcels"}`).Agents; len(a) != 1 || a[0].Info != "sends parcels" {
		t.Errorf("what was registered: %+v", a)
	}
	c.fine("AGENT.REPORT", `{"name":"pay","report_info":"busy"}`)
	c.fine("AGENT.UNREGISTER", `{"name":"pay"}`)
	c.same("after one is gone", names("{}"), "mq9://broker/agent.translator", "ship")
	for subject, want := range map[string]string{"AGENT.UNREGISTER": "agent not found", "AGENT.REPORT": "agent not found"} {
		if r := c.ask(subject, `{"name":"pay"}`); r.Error != want {
			t.Errorf("%s: %+v", subject, r)
		}
	}
	if r := c.ask("AGENT.REGISTER", "{}"); r.Error != "agent name must not be empty" {
		t.Errorf("no name: %+v", r)
	}
}

// The page lists the mailboxes that there are, on every node, and the agents.
func TestMQ9Lists(t *testing.T) {
	n := startNodes(t, 1)[0]
	c := newMQ9Client(t, n)
	list := func(page string) (names []string, total int) {
		t.Helper()
		var out struct {
			Code int
			Data struct {
				Data []struct {
					Address string `json:"mail_address"`
					Name    string
					TTL     uint64
					Created int64 `json:"create_time"`
				}
				Total int `json:"total_count"`
			}
		}
		b, err := n.page(page)
		if err == nil {
			err = json.Unmarshal(b, &out)
		}
		if err != nil || out.Code != 0 {
			t.Fatalf("%s: %s %v", page, b, err)
		}
		for _, r := range out.Data.Data {
			names = append(names, r.Address+r.Name)
		}
		return names, out.Data.Total
	}
	if names, _ := list("/api/mq9/mail/list"); len(names) != 0 {
		t.Errorf("before the first: %q", names)
	}
	for _, name := range []string{"b", "a.1", "a.2"} {
		c.fine("MAILBOX.CREATE", fmt.Sprintf(`{"name":%q}`, name))
	}
	c.fine("MAILBOX.CREATE", `{"name":"short","ttl":1}`)
	c.fine("AGENT.REGISTER", `{"name":"one"}`)
	until(t, "the short one is over", func() bool { names, _ := list("/api/mq9/mail/list"); return len(names) == 3 })
	for page, want := range map[string][]string{
		"mail/list": {"a.1", "a.2", "b"}, "mail/list?mail_address=a.": {"a.1", "a.2"}, "mail/list?sort_by=desc&limit=2": {"b", "a.2"},
		"mail/list?limit=2&page=2": {"b"}, "mail/list?limit=2&page=9": nil, "mail/list?tenant=other": nil, "agent/list": {"one"}, "agent/list?name=x": nil,
	} {
		names, total := list("/api/mq9/" + page)
		c.same(page, names, want...)
		if page == "mail/list?limit=2&page=2" && total != 3 {
			t.Errorf("%s: %d in all, want 3", page, total)
		}
	}
}
