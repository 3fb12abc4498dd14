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
