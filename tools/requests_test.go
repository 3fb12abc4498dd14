package tools

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/internal/secret"
)

func incomingOf(text string) (*incoming, *bytes.Buffer) {
	var refused bytes.Buffer
	return &incoming{lines: bufio.NewReader(strings.NewReader(text)), requests: newRequests(),
		refuse: func(answer []byte) { refused.Write(answer) }}, &refused
}

// A client that reads no answers is read no further than the bound.
func TestRequestsWaitForAnswers(t *testing.T) {
	const all = 3 * mostInFlight
	var text strings.Builder
	for i := range all { // a third of the ids comes three times
		fmt.Fprintf(&text, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i%(2*mostInFlight))
	}
	in, _ := incomingOf(text.String())
	read := make(chan int, 1)
	go func() {
		lines, _ := io.ReadAll(in)
		read <- bytes.Count(lines, []byte("\n"))
	}()
	for most := 0; ; runtime.Gosched() {
		in.requests.mu.Lock()
		one := slices.Collect(maps.Keys(in.requests.open))
		most = max(most, in.requests.n)
		in.requests.mu.Unlock()
		select {
		case n := <-read:
			if n != all || most > mostInFlight {
				t.Errorf("%d of %d requests were read, up to %d in flight, want at most %d", n, all, most, mostInFlight)
			}
			return
		default:
			for _, id := range one {
				in.requests.answered([]byte(`{"id":` + id + `,"result":{}}`))
			}
		}
	}
}

func TestRequestsInFlight(t *testing.T) {
	r := newRequests()
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1.0,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, // the same id once more
		`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":[1]}`,
		`{"jsonrpc":"2.0","id":"1","method":"ping","result":null}`,
		`{"jsonrpc":"2.0","id":2,"error":{}}`, // which mcp-go answers, too
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}`, // mcp-go answers it nevertheless
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody's"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		`{"jsonrpc":"2.0","id":3,"result":{}}`, // which is an answer
	} {
		m, refused := parseMessage([]byte(text))
		if refused != nil {
			t.Fatalf("%s is refused: %s", text, refused)
		}
		r.admit(m, len(text))
	}
	if r.n != 5 {
		t.Errorf("%d are in flight: %v", r.n, r.open)
	}
	for _, answer := range []string{`{"id":1,"result":{}}`, `{"id":1,"error":{}}`, `{"id":1,"result":{}}`, `{"id":"a","result":{}}`, `{"method":"notifications/progress","params":{}}`, `{"id":"1"}`, `{"id":2}`, `{"id":null,"error":{}}`} {
		if awaited := r.answered([]byte(answer)); awaited == strings.Contains(answer, `"a"`) {
			t.Errorf("%s is passed on: %t", answer, awaited)
		}
	}
	if r.n != 0 || len(r.open) != 0 || r.bytes != 0 {
		t.Errorf("in flight are %d, %v, of %d bytes", r.n, r.open, r.bytes)
	}
}

// Nothing overtakes initialize, not even a notification.
func TestInitializeIsAnsweredFirst(t *testing.T) {
	in, _ := incomingOf(introduce + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	lines := bufio.NewReader(in)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	next := make(chan string, 1)
	go func() {
		line, _ := lines.ReadString('\n')
		next <- line
	}()
	for range 100 {
		runtime.Gosched()
	}
	select {
	case line := <-next:
		t.Fatalf("%q is read before initialize is answered", line)
	default:
	}
	in.requests.answered([]byte(`{"id":0,"result":{}}`))
	if line := <-next; !strings.Contains(line, "initialized") {
		t.Errorf("then %q is read", line)
	}
}

func TestMessagesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		`rubbish`: `"id":null`,
		`{"jsonrpc":"2.0","id":7,"method":"ping"`:                         `"id":7`,
		`{"jsonrpc":"2.0","id":7,"params":` + strings.Repeat("[", 20_000): "is not JSON",
		`[{"jsonrpc":"2.0","id":7,"method":"ping"}]`:                      "no batch",
		`{"jsonrpc":2.0,"id":7,"method":"ping"}`:                          `"id":7`,
		`{"id":7,"method":"ping"}`:                                        "version is not",
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`:                     "the id is neither",
		`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`:                  "the id is neither",
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                      "the id is neither",
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`:         "the id is neither",
		`{"jsonrpc":"2.0","id":1e400,"method":"ping"}`:                    "object of JSON-RPC",
		`{"jsonrpc":"2.0","id":7,"result":null}`:                          "neither a method nor a result",
		`{"jsonrpc":"2.0","id":7,"method":["ping"]}`:                      "the method is not a string",
	} {
		in, refused := incomingOf(text + "\n \n" + askTools + "\n")
		rest, err := io.ReadAll(in)
		if got := refused.String(); err != nil || string(rest) != askTools+"\n" || !strings.Contains(got, want) || !strings.Contains(got, "Nothing was changed") || strings.Count(got, "\n") != 1 {
			t.Errorf("%.60s is answered %q, and then %.60q is read, %v; want %s", text, got, rest, err, want)
		}
	}
}

func TestAMessageThatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", 2*mostMessage)
	for _, c := range []struct{ name, first, answer string }{
		{"with its id first", `{"jsonrpc":"2.0","id":7,"params":"` + long + `"}`, `"id":7`},
		{"with its id last", `{"jsonrpc":"2.0","params":"` + long + `","id":7}`, `"id":null`},
		{"that is none", long, `"id":null`},
		{"that has another kind of id", `{"id":{"a":1},"x":"` + long + `"}`, `"id":null`},
	} {
		in, refused := incomingOf(c.first + "\n" + askTools + "\n")
		rest, err := io.ReadAll(in)
		if err != nil || string(rest) != askTools+"\n" {
			t.Errorf("a long message %s: what follows is read as %.60q, %v", c.name, rest, err)
		}
		if got := refused.String(); !strings.Contains(got, c.answer) || !strings.Contains(got, "longer than 256 KiB") || strings.Count(got, "\n") != 1 {
			t.Errorf("a long message %s is answered %q", c.name, got)
		}
	}
}

// A text is a message, or refused in one line that is one; its id is asked for no
// deeper than it is taken.
func FuzzMessage(f *testing.F) {
	f.Add(introduce)
	f.Add(askTools)
	f.Add(`{"jsonrpc":2.0,"id":[1],"method":7}`)
	f.Add(`{"params":{"id":1},"ID":"\ud800","id":1e3`)
	f.Fuzz(func(t *testing.T, text string) {
		m, refused := parseMessage([]byte(text))
		if refused == nil {
			if m.asks() && m.key() == "null" {
				t.Errorf("%q is answered, and has no id", text)
			}
			return
		}
		if answer, why := parseMessage(refused); why != nil || answer.Error == nil || bytes.ContainsRune(refused, '\n') {
			t.Errorf("%q is refused by %s, which is no answer: %s", text, refused, why)
		}
	})
}

const (
	askTools  = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	introduce = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
)

func TestHTTPSessions(t *testing.T) {
	s := (&host{}).server(t, Options{})
	web := httptest.NewServer(s.Handler(HTTPOptions{Token: secret.NewText("right")}))
	defer web.Close()
	ask := func(method, session, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(method, web.URL+Path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer right")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set(server.HeaderKeySessionID, session)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	begin := func() string { return ask("POST", "", introduce).Header.Get(server.HeaderKeySessionID) }
	session, other := begin(), begin()
	if session == "" || session == other {
		t.Fatalf("two sessions are %q and %q", session, other)
	}
	for _, c := range []struct {
		name, method, session, body string
		want                        int
	}{
		{"a session", "POST", session, askTools, 200},
		{"none", "POST", "", askTools, 400},
		{"an invented one", "POST", "mcp-session-7b0c4f4e-8d1b-4d5c-9a53-2f6a1d6c9e11", askTools, 404},
		{"to listen without", "GET", "", "", 400},
		{"to listen on an invented one", "GET", "x", "", 404},
		{"to end none", "DELETE", "", "", 400},
		{"to end an invented one", "DELETE", "x", "", 404},
		{"to end it", "DELETE", session, "", 200},
		{"after its end", "POST", session, askTools, 404},
		{"to end it twice", "DELETE", session, "", 404},
		{"another goes on", "POST", other, askTools, 200},
		{"PUT", "PUT", other, askTools, 405},
		{"PATCH", "PATCH", other, askTools, 405},
		{"TRACE", "TRACE", other, "", 405},
		{"OPTIONS", "OPTIONS", other, "", 405},
	} {
		if got := ask(c.method, c.session, c.body); got.StatusCode != c.want || c.want == 405 && got.Header.Get("Allow") == "" {
			t.Errorf("%s: %d, want %d", c.name, got.StatusCode, c.want)
		}
	}
}

func TestSessionsAreBounded(t *testing.T) {
	s := newSessions()
	ended := []string{}
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			s.Generate()
			return
		}
		id := r.Header.Get(server.HeaderKeySessionID)
		ended = append(ended, id)
		s.Terminate(id)
	})
	first := s.Generate()
	for range mostSessions {
		r := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(introduce))
		s.guard(next).ServeHTTP(httptest.NewRecorder(), r)
	}
	if _, err := s.Validate(first); err == nil || len(s.used) != mostSessions || !slices.Equal(ended, []string{first}) {
		t.Errorf("%d sessions, the first: %v; %v were ended", len(s.used), err, ended)
	}
}

func TestServerJournalRotates(t *testing.T) {
	dir := t.TempDir()
	j, err := OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	j.most = 1000
	call, err := j.Call(keeper.Caller{Tool: "preflight"})
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if err := j.Answer(call, strings.Repeat("a", 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "journal", "server-*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != journalsKept {
		t.Errorf("%d files are kept, want %d", len(files), journalsKept)
	}
	number := func(file string) (n int) {
		fmt.Sscanf(file[strings.LastIndexByte(file, '-')+1:], "%d.jsonl", &n)
		return n
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Compare(number(a), number(b)) })
	head := ""
	for _, f := range files {
		entries, err := journal.Read(f)
		if err != nil {
			t.Fatal(err)
		}
		now, _, err := journal.Verify(f)
		if err != nil {
			t.Fatal(err)
		}
		if first := string(entries[0].Data); head != "" && !strings.Contains(first, head) {
			t.Errorf("%s does not go on where the one before ends: %s", f, first)
		}
		head = now
		for _, e := range entries {
			if e.Kind == journal.KindAnswer && !strings.Contains(string(e.Data), `"file":"`+call.File) {
				t.Errorf("an answer to a call of another file is %s", e.Data)
			}
		}
	}
}
