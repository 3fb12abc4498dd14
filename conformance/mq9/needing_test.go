package mq9

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A check that cannot make what it needs accuses nobody of its own statement. It names the
// one that says so.
func TestSetups(t *testing.T) {
	hosttest.Long(t, "what a broker leaves out is waited for")
	t.Parallel()
	const no = `{"error":"the limit is reached"}`
	at := startNodes(t, 1)[0]
	mailboxes := []string{"priority/order", "delete/twice", "send/text", "send/many-senders", "request/many"}
	for name, test := range map[string]struct {
		ask      func(*nats.Msg) string
		violated string
		needing  []string // what that one says
	}{
		"no mailboxes": {func(m *nats.Msg) string {
			if m.Subject == subjectCreate && strings.Contains(string(m.Data), "name") { // it greets with one of no name
				return no
			}
			return ""
		}, "create/reply", mailboxes},
		"unknown mailboxes": {says(subjectQuery, no), "send/nodes", mailboxes},
		"no messages":       {says(subjectSend, no), "send/id", mailboxes},
		"no reading":        {says(subjectFetch, no), "fetch/earliest", []string{"priority/order", "key/latest", "delete/gone", "fetch/wait-default"}},
		"no groups": {func(m *nats.Msg) string {
			if strings.HasPrefix(m.Subject, subjectFetch) && strings.Contains(string(m.Data), "group_name") {
				return no
			}
			return ""
		}, "group/begins", []string{"send/kept", "ack/middle", "priority/one-by-one"}},
		"no acknowledging": {says(subjectAck, no), "ack/batch", []string{"group/resumes", "ack/middle", "delete/offset"}},
		"no agents":        {says(subjectDiscover, no), "agent/registered", []string{"agent/as-it-was", "agent/report", "agent/text"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &wrong{ask: test.ask}
			for _, r := range examined(t, conformance.Options{
				To: w.start(t, at), Wait: 2 * time.Second,
				Statements: only(append(test.needing, test.violated)...),
			}) {
				switch {
				case r.Name == test.violated && r.Verdict == conformance.Violates:
				case r.Name != test.violated && r.Verdict == conformance.Undecided && strings.HasSuffix(r.Why, "see "+test.violated):
				default:
					t.Error(told(r))
				}
			}
		})
	}
}

// A plain request that is refused is not compared with another one.
func TestNeedsNothingPlain(t *testing.T) {
	t.Parallel()
	w := &wrong{ask: says(subjectFetch, `{"error":"the limit is reached"}`)}
	for _, r := range examined(t, conformance.Options{To: w.start(t, startNodes(t, 1)[0]), Wait: time.Second, Statements: only("fetch/earliest")}) {
		if r.Verdict != conformance.Violates || strings.Contains(told(r), "plain") {
			t.Error(told(r))
		}
	}
}

// A request that is refused since the check's own mailbox is as it is violates the check's
// statement: others are carried out.
func TestSpoiltByItself(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	spoilt := map[string]bool{}
	w := &wrong{ask: func(m *nats.Msg) string {
		mu.Lock()
		defer mu.Unlock()
		if rest, deletes := strings.CutPrefix(m.Subject, subjectDelete); deletes {
			spoilt[rest[:strings.LastIndex(rest, ".")]] = true
		}
		if at, reads := strings.CutPrefix(m.Subject, subjectFetch); reads && spoilt[at] {
			return `{"error":"message not found"}`
		}
		return ""
	}}
	for _, r := range examined(t, conformance.Options{To: w.start(t, startNodes(t, 1)[0]), Wait: 2 * time.Second, Statements: only("delete/gone")}) {
		if r.Verdict != conformance.Violates {
			t.Error(told(r))
		}
	}
}

// A node may serve a mailbox some time after it knows it.
func TestServedLate(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	began := map[string]time.Time{} // of each subject
	w := &wrong{ask: func(m *nats.Msg) string {
		mu.Lock()
		defer mu.Unlock()
		for _, prefix := range []string{subjectFetch, subjectAck} {
			if _, asked := began[m.Subject]; !asked && strings.HasPrefix(m.Subject, prefix) {
				began[m.Subject] = time.Now()
			}
		}
		if at, late := began[m.Subject]; late && time.Since(at) < 100*time.Millisecond {
			return `{"error":"shard has no leader yet"}`
		}
		return ""
	}}
	for _, r := range examined(t, conformance.Options{
		To: w.start(t, startNodes(t, 1)[0]), Wait: 4 * time.Second,
		Statements: only("priority/order", "priority/batches", "key/latest", "delete/gone", "group/resumes", "group/workers", "ack/required", "fetch/wait-ends", "fetch/earliest"),
	}) {
		if r.Verdict != conformance.Conforms {
			t.Error(told(r))
		}
	}
}
