package mq9

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// defects are brokers that break one rule, and the statements that say so.
func defects() map[string]struct {
	broker   *wrong
	violated []string
} {
	return map[string]struct {
		broker   *wrong
		violated []string
	}{
		"none":                              {&wrong{}, nil},
		"PING before PONG":                  {&wrong{pings: true}, []string{"request/pong"}},
		"one number for all replies":        {&wrong{sid: "0"}, []string{"request/mux-inbox", "request/own-inbox"}},
		"ends what others have":             {&wrong{forgets: true}, []string{"request/apart"}},
		"no field error":                    {&wrong{answer: answers("$", dropped("error"))}, []string{"request/error-field"}},
		"nothing for what it knows not":     {&wrong{mute: "$mq9.AI.NOTHING"}, []string{"request/unknown"}},
		"-ERR for one, nothing for another": {&wrong{objects: "$mq9.AI.MAILBOX.REMOVE", mute: "$mq9.AI.NOTHING"}, []string{"request/unknown"}},
		"letters of any case":               {&wrong{ask: asks(subjectCreate, renamed(strings.ToLower))}, []string{"address/upper-case"}},
		"underscores":                       {&wrong{ask: asks(subjectCreate, renamed(func(name string) string { return strings.ReplaceAll(name, "_", ".") }))}, []string{"address/underscore"}},
		"longer addresses":                  {&wrong{ask: asks(subjectCreate, renamed(func(name string) string { return name[:min(128, len(name))] }))}, []string{"address/too-long"}},
		"made again and again":              {&wrong{answer: answers(subjectCreate, func(out map[string]any) { out["error"] = "" })}, []string{"create/duplicate", "create/once"}},
		"mailboxes for ever":                {&wrong{ask: asks(subjectCreate, dropped("ttl"))}, []string{"create/ttl", "create/again"}},
		"mailboxes too short": {&wrong{ask: asks(subjectCreate, func(in map[string]any) {
			if ttl, _ := in["ttl"].(float64); ttl == 6 {
				in["ttl"] = 2
			}
		})}, []string{"create/ttl-until"}},
		"one id for all":  {&wrong{answer: answers(subjectSend, func(out map[string]any) { out["msg_id"] = 7 })}, []string{"send/ids", "request/many"}},
		"text cleaned up": {&wrong{answer: answers(subjectFetch, messagesOf(func(m map[string]any) { m["payload"] = strings.TrimSpace(fmt.Sprint(m["payload"])) }))}, []string{"send/text"}},
		"a smaller limit": {&wrong{ask: func(m *nats.Msg) string {
			if len(m.Data) > 30000 {
				return `{"error":"too large"}`
			}
			return ""
		}}, []string{"send/large"}},
		"no headers": {&wrong{ask: func(m *nats.Msg) string { m.Header = nats.Header{}; return "" }}, []string{
			"key/latest", "delay/hidden", "message-ttl/gone", "tags/kept", "query/key", "priority/order", "priority/kept",
		}},
		"nothing acknowledged":           {&wrong{ask: says(subjectAck, `{"error":""}`)}, []string{"group/resumes", "ack/batch", "ack/middle", "priority/one-by-one", "priority/batches", "ack/required"}},
		"leaves out what comes together": {&wrong{lazy: true}, []string{"request/together"}},
		"replies twice":                  {&wrong{twice: true}, []string{"request/one-reply"}},
		"no priority":                    {&wrong{answer: answers(subjectFetch, messagesOf(dropped("priority")))}, []string{"fetch/fields", "priority/kept"}},
		"always anew": {&wrong{ask: asks(subjectFetch, func(in map[string]any) { in["force_deliver"] = true })}, []string{
			"group/resumes", "group/deliver", "group/reconnect", "group/nodes", "group/workers", "delete/offset", "query/offset", "priority/later",
		}},
		"shorter addresses": {&wrong{ask: func(m *nats.Msg) string {
			if strings.HasPrefix(m.Subject, subjectFetch) {
				m.Subject = strings.TrimSuffix(m.Subject, ".c")
			}
			return ""
		}}, []string{"address/opaque"}},
		"nothing deleted":   {&wrong{ask: says(subjectDelete, `{"error":"","deleted":true}`)}, []string{"delete/gone", "delete/unknown", "delete/twice", "delete/no-mailbox"}},
		"as many as it has": {&wrong{ask: asks(subjectFetch, dropped("config"))}, []string{"fetch/num-msgs", "fetch/wait-ends"}},
		"always the oldest": {&wrong{ask: asks(subjectFetch, func(in map[string]any) { in["deliver"] = "earliest" })}, []string{"fetch/latest", "fetch/default", "fetch/from-id", "fetch/from-time"}},
		"sleeps instead of waiting": {&wrong{ask: func(m *nats.Msg) string {
			var in struct {
				Config struct {
					Wait int `json:"max_wait_ms"`
				}
			}
			if strings.HasPrefix(m.Subject, subjectFetch) && json.Unmarshal(m.Data, &in) == nil && in.Config.Wait > 0 {
				time.Sleep(time.Duration(in.Config.Wait) * time.Millisecond)
				return `{"error":"","messages":[]}`
			}
			return ""
		}}, []string{"fetch/waits"}},
		"the last first": {&wrong{answer: answers(subjectFetch, func(out map[string]any) {
			all, _ := out["messages"].([]any)
			slices.Reverse(all)
		})}, []string{"fetch/earliest", "priority/order", "request/in-turn"}},
		"groups by their first letter": {&wrong{ask: asks(subjectFetch, func(in map[string]any) {
			if g, ok := in["group_name"].(string); ok {
				in["group_name"] = g[:1]
			}
		})}, []string{"group/others"}},
		"nothing from an id": {&wrong{ask: func(m *nats.Msg) string {
			if strings.HasPrefix(m.Subject, subjectFetch) && strings.Contains(string(m.Data), `"deliver":"from_id"`) {
				return `{"error":"not implemented"}`
			}
			return ""
		}}, []string{"fetch/from-id"}},
		"messages too short": {&wrong{ask: func(m *nats.Msg) string {
			if m.Header.Get("mq9-ttl") == "6" {
				m.Header.Set("mq9-ttl", "2")
			}
			return ""
		}}, []string{"message-ttl/until"}},
		"never forced":           {&wrong{ask: asks(subjectFetch, dropped("force_deliver"))}, []string{"group/force-earliest", "group/force-latest", "group/force-from-id"}},
		"no limit":               {&wrong{ask: asks(subjectQuery, dropped("limit"))}, []string{"query/limit"}},
		"any tag":                {&wrong{ask: asks(subjectQuery, dropped("tags"))}, []string{"query/tag", "query/none"}},
		"since ever":             {&wrong{ask: asks(subjectQuery, dropped("since"))}, []string{"query/since"}},
		"its own cards":          {&wrong{answer: answers(subjectDiscover, changedCards)}, []string{"agent/as-it-was"}},
		"never forgets":          {&wrong{ask: says(subjectUnregister, `{"error":""}`)}, []string{"agent/unregistered", "agent/unregister-unknown"}},
		"whatever the text":      {&wrong{ask: asks(subjectDiscover, dropped("text"))}, []string{"agent/text-others", "agent/pages"}},
		"subjects are mailboxes": {&wrong{}, []string{"apart/nats-publisher"}},
	}
}

func changedCards(out map[string]any) {
	all, _ := out["agents"].([]any)
	for _, a := range all {
		if card, ok := a.(map[string]any); ok {
			card["agent_info"] = strings.ReplaceAll(fmt.Sprint(card["agent_info"]), `"1.0.0"`, `"1.0"`)
		}
	}
}

// TestWrongBroker shows that the checks can fail: each defect violates the
// statements that it breaks; without a defect none of them is violated.
func TestWrongBroker(t *testing.T) {
	hosttest.Long(t, "what a broker leaves out is waited for")
	t.Parallel()
	at := startNodes(t, 1)[0]
	all := defects()
	intruder := all["subjects are mailboxes"].broker
	intruder.ask = func(m *nats.Msg) string {
		if !strings.HasPrefix(m.Subject, "$") {
			m.Subject = subjectSend + m.Subject
			intruder.upstream.RequestMsg(m, hosttest.Bound)
		}
		return ""
	}
	var names []string
	for _, d := range all {
		names = append(names, d.violated...)
	}
	for name, d := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			statements := only(d.violated...)
			if name == "none" {
				statements = only(names...)
			}
			var known []conformance.Known // so that what takes a whole wait to be seen is not looked at again
			for _, name := range d.violated {
				known = append(known, conformance.Known{Name: name})
			}
			for _, r := range examined(t, conformance.Options{To: d.broker.start(t, at), Statements: statements, Known: known, Wait: 4 * time.Second}) {
				want := conformance.Conforms
				if name != "none" {
					want = conformance.Violates
				}
				switch {
				case r.Verdict == want:
				case r.Verdict == conformance.Undecided && name == "none": // on a machine that is too busy
					t.Log(told(r))
				default:
					t.Errorf("expected %s: %s", want, told(r))
				}
			}
		})
	}
}
