package mq9

import (
	"slices"
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
		"no groups":         {refusesGroups(no), "group/begins", []string{"send/kept", "ack/middle", "priority/one-by-one"}},
		"no acknowledging":  {says(subjectAck, no), "ack/batch", []string{"group/resumes", "ack/middle", "delete/offset"}},
		"no agents":         {says(subjectDiscover, no), "agent/registered", []string{"agent/as-it-was", "agent/report", "agent/text"}},
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

// If the senders' node alone refuses a request, the statement of both nodes is violated, and
// a check that needs the request names that statement.
func TestSetupsAtOneNode(t *testing.T) {
	hosttest.Long(t, "what a broker leaves out is waited for")
	t.Parallel()
	const no = `{"error":"the limit is reached"}`
	at := startNodes(t, 1)[0]
	for name, test := range map[string]struct {
		ask      func(*nats.Msg) string
		violated string
		needing  []string
		conforms []string
	}{
		"no reading":       {says(subjectFetch, no), "send/nodes", []string{"group/nodes", "group/workers"}, []string{"fetch/earliest"}},
		"no groups":        {refusesGroups(no), "group/nodes", []string{"group/workers"}, []string{"group/begins", "send/nodes"}},
		"no acknowledging": {says(subjectAck, no), "group/workers", nil, []string{"ack/batch", "group/nodes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := &wrong{ask: test.ask}, &wrong{}
			for _, r := range examined(t, conformance.Options{
				From: from.start(t, at), To: to.start(t, at), Wait: 2 * time.Second,
				Statements: only(append(append(test.needing, test.conforms...), test.violated)...),
			}) {
				switch {
				case r.Name == test.violated && r.Verdict == conformance.Violates:
				case slices.Contains(test.conforms, r.Name) && r.Verdict == conformance.Conforms:
				case slices.Contains(test.needing, r.Name) && r.Verdict == conformance.Undecided && strings.HasSuffix(r.Why, "see "+test.violated):
				default:
					t.Error(told(r))
				}
			}
		})
	}
}

// refusesGroups refuses FETCH with a group.
func refusesGroups(reply string) func(*nats.Msg) string {
	return func(m *nats.Msg) string {
		if strings.HasPrefix(m.Subject, subjectFetch) && strings.Contains(string(m.Data), "group_name") {
			return reply
		}
		return ""
	}
}

// A worker that is refused does not show which messages it would have been given.
func TestRefusedWorkers(t *testing.T) {
	t.Parallel()
	at := startNodes(t, 1)[0]
	refuses := func(from int) func(*nats.Msg) string { // FETCH with a group, from that one of each mailbox on
		var mu sync.Mutex
		seen := map[string]int{}
		no := refusesGroups(`{"error":"the limit is reached"}`)
		return func(m *nats.Msg) string {
			mu.Lock()
			defer mu.Unlock()
			said := no(m)
			if said != "" {
				seen[m.Subject]++
			}
			if seen[m.Subject] <= from {
				return ""
			}
			return said
		}
	}
	for let, want := range map[int]conformance.Verdict{0: conformance.Undecided, 1: conformance.Undecided, 2: conformance.Violates} {
		w := &wrong{ask: refuses(let)}
		for _, r := range examined(t, conformance.Options{To: w.start(t, at), Wait: 2 * time.Second, Statements: only("group/workers-at-once")}) {
			if r.Verdict != want {
				t.Errorf("%d are let through: %s", let, told(r))
			}
		}
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
