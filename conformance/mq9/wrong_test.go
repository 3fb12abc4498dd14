package mq9

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A wrong broker passes requests on to the embedded one, and breaks one rule.
type wrong struct {
	// ask changes a request before it is passed on. A reply that it returns is sent
	// instead of passing it on.
	ask func(m *nats.Msg) (instead string)
	// answer changes a reply.
	answer func(subject string, object map[string]any)

	pings   bool   // PING comes before PONG
	sid     string // that every reply comes under, whatever the client subscribed with
	forgets bool   // UNSUB ends all subscriptions of a number, whoever made them
	mute    string // the request of this beginning has no reply
	twice   bool   // every reply comes twice
	objects string // -ERR is all that the request of this beginning has
	lazy    bool   // it leaves out what comes together with something else

	upstream *nats.Conn
	mu       sync.Mutex
	subs     []wrongSub
}

type wrongSub struct {
	conn         net.Conn
	subject, sid string
}

// start serves until the test ends.
func (w *wrong) start(t *testing.T, upstream string) string {
	t.Helper()
	var err error
	if w.upstream, err = nats.Connect("nats://" + upstream); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { conn.Close() })
			serving.Go(func() { w.serve(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.upstream.Close()
	})
	return l.Addr().String()
}

func (w *wrong) serve(conn net.Conn) {
	defer conn.Close()
	io.WriteString(conn, `INFO {"headers":true,"max_payload":65536}`+"\r\n")
	r := bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		fields := strings.Fields(line)
		switch fields[0] {
		case "PING":
			if w.pings {
				io.WriteString(conn, "PING\r\n")
			}
			io.WriteString(conn, "PONG\r\n")
		case "SUB":
			w.mu.Lock()
			w.subs = append(w.subs, wrongSub{conn, fields[1], fields[2]})
			w.mu.Unlock()
		case "UNSUB":
			w.mu.Lock()
			w.subs = slices.DeleteFunc(w.subs, func(s wrongSub) bool { return s.sid == fields[1] && (s.conn == conn || w.forgets) })
			w.mu.Unlock()
		case "PUB", "HPUB":
			if size, _ := strconv.Atoi(fields[len(fields)-1]); w.lazy && r.Buffered() > size+2 { // the first alone
				w.publish(conn, r, fields)
				io.CopyN(io.Discard, r, int64(r.Buffered()))
				continue
			}
			if !w.publish(conn, r, fields) {
				return
			}
		}
	}
}

// publish reads a message, PUB subject [reply] size or HPUB subject [reply]
// size-of-headers size, and passes it on.
func (w *wrong) publish(conn net.Conn, r io.Reader, fields []string) bool {
	size, _ := strconv.Atoi(fields[len(fields)-1])
	data := make([]byte, size+2)
	if _, err := io.ReadFull(r, data); err != nil {
		return false
	}
	m, sizes, head := nats.NewMsg(fields[1]), 1, 0
	if fields[0] == "HPUB" {
		sizes = 2
		head, _ = strconv.Atoi(fields[len(fields)-2])
		for _, line := range strings.Split(string(data[:head]), "\r\n") {
			if name, value, ok := strings.Cut(line, ": "); ok {
				m.Header.Set(name, value)
			}
		}
	}
	m.Data = data[head:size]
	if len(fields) != 3+sizes {
		if w.ask != nil {
			w.ask(m) // which may keep what needs no reply
		}
		return true
	}
	return w.pass(conn, m, fields[2])
}

func (w *wrong) pass(conn net.Conn, m *nats.Msg, to string) bool {
	asked := m.Subject
	if w.objects != "" && strings.HasPrefix(asked, w.objects) {
		io.WriteString(conn, "-ERR 'Permissions Violation'\r\n")
		return true
	}
	if w.mute != "" && strings.HasPrefix(asked, w.mute) {
		return true
	}
	var text string
	if w.ask != nil {
		text = w.ask(m)
	}
	if text == "" {
		got, err := w.upstream.RequestMsg(m, 20*time.Second)
		if err != nil {
			return false
		}
		text = string(got.Data)
	}
	var object map[string]any
	if w.answer != nil && json.Unmarshal([]byte(text), &object) == nil {
		w.answer(asked, object)
		changed, _ := json.Marshal(object)
		text = string(changed)
	}
	w.mu.Lock()
	sid := ""
	for _, s := range w.subs {
		if prefix, wild := strings.CutSuffix(s.subject, "*"); s.conn == conn && (s.subject == to || wild && strings.HasPrefix(to, prefix)) {
			sid = s.sid
		}
	}
	w.mu.Unlock()
	if w.sid != "" {
		sid = w.sid
	}
	for range map[bool]int{false: 1, true: 2}[w.twice] {
		if sid != "" {
			fmt.Fprintf(conn, "MSG %s %s %d\r\n%s\r\n", to, sid, len(text), text)
		}
	}
	return true
}

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

// A node may show a message some time after it was stored, which is no end of another one.
func TestShownLate(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	stored := map[string]time.Time{} // the latest of each mailbox
	w := &wrong{}
	w.ask = func(m *nats.Msg) string {
		mu.Lock()
		defer mu.Unlock()
		if at, sends := strings.CutPrefix(m.Subject, subjectSend); sends {
			stored[at] = time.Now()
		}
		return ""
	}
	w.answer = func(subject string, out map[string]any) {
		mu.Lock()
		defer mu.Unlock()
		all, _ := out["messages"].([]any)
		if at, reads := strings.CutPrefix(subject, subjectFetch); reads && len(all) > 0 && time.Since(stored[at]) < 300*time.Millisecond {
			out["messages"] = all[:len(all)-1]
		}
	}
	for _, r := range examined(t, conformance.Options{To: w.start(t, startNodes(t, 1)[0]), Statements: only("message-ttl/until")}) {
		if r.Verdict != conformance.Conforms {
			t.Error(told(r))
		}
	}
}

// A broker may return its agents page by page also without a text. Where others have many,
// those of a check are not on the first page.
func TestAgentsOnPages(t *testing.T) {
	t.Parallel()
	const others, limit = 50, 20
	for name, test := range map[string]struct {
		unregister string // what that is answered, if it is not carried out
		want       conformance.Verdict
	}{
		"right":         {"", conformance.Conforms},
		"never forgets": {`{"error":""}`, conformance.Violates},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &wrong{}
			w.ask = func(m *nats.Msg) string {
				in := struct {
					Text string
					Page int
				}{Page: 1}
				switch {
				case m.Subject == subjectUnregister:
					return test.unregister
				case m.Subject != subjectDiscover || json.Unmarshal(m.Data, &in) != nil || in.Text != "":
					return ""
				}
				got, err := w.upstream.RequestMsg(m, hosttest.Bound)
				if err != nil {
					return ""
				}
				var out struct{ Agents []any }
				json.Unmarshal(got.Data, &out)
				var all []any
				for i := range others {
					all = append(all, map[string]string{"name": fmt.Sprint("other", i)})
				}
				all = append(all, out.Agents...)
				page := all[min((in.Page-1)*limit, len(all)):min(in.Page*limit, len(all))]
				text, _ := json.Marshal(map[string]any{"error": "", "agents": page})
				return string(text)
			}
			// Not parallel: a check's own page may change beside others.
			for _, r := range examined(t, conformance.Options{
				To: w.start(t, startNodes(t, 1)[0]), Wait: 2 * time.Second, Parallel: 1,
				Statements: only("agent/registered", "agent/mailbox-alone", "agent/as-it-was", "agent/again", "agent/unregistered", "agent/report"),
			}) {
				want := conformance.Conforms
				if r.Name == "agent/unregistered" {
					want = test.want
				}
				if r.Verdict != want {
					t.Errorf("expected %s: %s", want, told(r))
				}
			}
		})
	}
}

// asks changes the object of requests of a beginning.
func asks(prefix string, change func(in map[string]any)) func(*nats.Msg) string {
	return func(m *nats.Msg) string {
		in := map[string]any{}
		if strings.HasPrefix(m.Subject, prefix) && json.Unmarshal(m.Data, &in) == nil {
			change(in)
			m.Data, _ = json.Marshal(in)
		}
		return ""
	}
}

// says replies to requests of a beginning, and does nothing.
func says(prefix, reply string) func(*nats.Msg) string {
	return func(m *nats.Msg) string {
		if strings.HasPrefix(m.Subject, prefix) {
			return reply
		}
		return ""
	}
}

// answers changes the replies to requests of a beginning.
func answers(prefix string, change func(out map[string]any)) func(string, map[string]any) {
	return func(subject string, out map[string]any) {
		if strings.HasPrefix(subject, prefix) {
			change(out)
		}
	}
}

func renamed(as func(string) string) func(map[string]any) {
	return func(in map[string]any) {
		if name, ok := in["name"].(string); ok {
			in["name"] = as(name)
		}
	}
}

func dropped(fields ...string) func(map[string]any) {
	return func(in map[string]any) {
		for _, f := range fields {
			delete(in, f)
		}
	}
}

// messagesOf changes each message of a reply.
func messagesOf(change func(m map[string]any)) func(map[string]any) {
	return func(out map[string]any) {
		all, _ := out["messages"].([]any)
		for _, m := range all {
			change(m.(map[string]any))
		}
	}
}

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
