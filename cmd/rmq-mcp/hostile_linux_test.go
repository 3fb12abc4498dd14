package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"
)

// A hostileRow is one message that no careful client sends, and words of the answer.
type hostileRow struct {
	name, message string // %d stands for the id
	want          []string
}

// A schema is as much of a tool's input schema as hostile values are made of.
type schema struct {
	Type       string            `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Enum       []string          `json:"enum"`
	Minimum    *float64          `json:"minimum"`
	Maximum    *float64          `json:"maximum"`
	Items      *schema           `json:"items"`
}

// values that are refused for a parameter, with the words of it.
func (s schema) hostile() map[string]string {
	long := `"` + strings.Repeat("x", 110<<10) + `"`
	switch s.Type {
	case "string":
		values := map[string]string{
			`{"a":1}`: "expected a string", `["a"]`: "expected a string", `true`: "expected a string", long: "expected at most",
		}
		if s.Enum != nil {
			values[`"\u001b[2J\u202e"`] = "valid values: " + s.Enum[0]
			values[`"../../etc/passwd"`] = "valid values: "
		}
		return values
	case "integer":
		values := map[string]string{}
		for _, v := range []string{`"banana"`, `1.5`, `9007199254740993`, `"9007199254740993"`, `99999999999999999999999`, `[]`, `{}`, `true`, `"0x10"`} {
			values[v] = "expected an integer"
		}
		return s.outside(values)
	case "number":
		values := map[string]string{}
		for _, v := range []string{`"banana"`, `"NaN"`, `"-Infinity"`, `true`, `[1]`, `{}`, long} {
			values[v] = "expected a number"
		}
		return s.outside(values)
	case "boolean":
		return map[string]string{`"maybe"`: "expected true or false", `7`: "expected true or false", `[]`: "expected true or false", long: "expected true or false"}
	case "array":
		values := map[string]string{`[{}]`: "expected an array of", `[[[["a"]]]]`: "expected an array of", `{"a":1}`: "expected an array of"}
		item := `"x"`
		if s.Items.Type != "string" {
			item = "7"
			values[`["x"]`] = "expected an array of"
		} else {
			values["["+long+"]"] = "expected at most"
		}
		values["["+strings.Repeat(item+",", 200)+item+"]"] = "expected at most 200"
		return values
	case "object":
		values := map[string]string{}
		for _, v := range []string{`"{"`, `7`, `[]`, `"null"`, `true`, long, `"{} {}"`} {
			values[v] = "expected an object"
		}
		return values
	}
	return nil
}

func (s schema) outside(values map[string]string) map[string]string {
	if s.Minimum != nil {
		values[fmt.Sprint(int(*s.Minimum)-1)] = "expected"
	}
	if s.Maximum != nil && *s.Maximum < 1<<53 {
		values[fmt.Sprint(int(*s.Maximum)+1)] = "expected"
	}
	return values
}

// argumentsThatAreRefused are all hostile values of all parameters.
func argumentsThatAreRefused(tool string, s schema, path []string) (rows []hostileRow) {
	call := func(args string) string {
		for _, outer := range slices.Backward(path) {
			args = fmt.Sprintf(`{%q:%s}`, outer, args)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	}
	at := func(name string) string { return strings.Join(append(slices.Clone(path), name), ".") }
	add := func(name, args string, want ...string) {
		rows = append(rows, hostileRow{tool + " " + at(name), call(args), append(want, "Nothing was changed")})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		values := p.hostile()
		for _, value := range slices.Sorted(maps.Keys(values)) {
			add(name, fmt.Sprintf(`{%q:%s}`, name, value), `"`+at(name)+`"`, values[value])
		}
		if p.Properties != nil {
			rows = append(rows, argumentsThatAreRefused(tool, p, append(slices.Clone(path), name))...)
		}
	}
	for _, name := range s.Required {
		add(name, `{}`, `"`+at(name)+`" is missing`)
		add(name, fmt.Sprintf(`{%q:null}`, name), `"`+at(name)+`" is missing`)
	}
	for _, name := range []string{"__proto__", "passwd", strings.Repeat("y", 10<<10), "\x1b[2J", "a\nb"} {
		key, _ := json.Marshal(name)
		add("unknown", fmt.Sprintf(`{%s:{"a":"hunter2"}}`, key), `unknown argument "`, "valid arguments")
	}
	if path == nil {
		for _, args := range []string{`[]`, `"x"`, `7`, `[{"a":1}]`, `true`} {
			add("all of them", args, "arguments")
		}
	}
	return rows
}

// messagesThatAreRefused are those of the protocol.
func messagesThatAreRefused() []hostileRow {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	return []hostileRow{
		{"no such tool", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"rm -rf","arguments":{}}}`, []string{"rm -rf"}},
		{"a tool without a name", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"arguments":{}}}`, []string{"error"}},
		{"params that are a list", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":[1]}`, []string{"error"}},
		{"no params", `{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`, []string{"error"}},
		{"no such method", `{"jsonrpc":"2.0","id":%d,"method":"tools/destroy"}`, []string{"error", "tools/destroy"}},
		{"a version that is a number", `{"jsonrpc":2.0,"id":%d,"method":"tools/list"}`, []string{"JSON-RPC version"}},
		{"a method that is none", `{"jsonrpc":"2.0","id":%d,"method":["tools/list"]}`, []string{"not a string"}},
		{"no method", `{"jsonrpc":"2.0","id":%d}`, []string{"neither a method"}},
		{"half a message", `{"jsonrpc":"2.0","id":%d,"method":"tools/list"`, []string{"not JSON"}},
		{"an answer that is none", `{"jsonrpc":"2.0","id":%d,"method":"tools/destroy","result":null}`, []string{"error"}},
		{"another version", `{"jsonrpc":"1.0","id":%d,"method":"tools/list"}`, []string{"JSON-RPC version"}},
		{"a resource outside", `{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, []string{"error"}},
		{"a resource above", `{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"skill://../../etc/passwd"}}`, []string{"error"}},
		{"no such prompt", `{"jsonrpc":"2.0","id":%d,"method":"prompts/get","params":{"name":"../x"}}`, []string{"error"}},
		{"arguments in the deep", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"preflight","arguments":{"a":` + deep + `}}}`, []string{"nested too deep"}},
		{"arguments deeper than the first", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"preflight","arguments":{"a":` + deep + `}}}`, []string{"nested too deep"}},
		{"a number without end", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_logs","arguments":{"limit":1e400}}}`, []string{"error"}},
		{"a message that is too long", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_logs","arguments":{"match":"` + strings.Repeat("x", 300<<10) + `"}}}`, []string{"than 256 KiB"}},
	}
}

// goWords are what no answer may have: an agent cannot act on them.
var goWords = regexp.MustCompile(`Go struct|Go value|interface \{\}|map\[string\]|float64|reflect\.|runtime error|panic|goroutine|\.go:\d`)

// TestHostileMessages sends what no careful client sends, half of it over stdio and
// half over HTTP. Every answer says what is wrong in words, and neither server grows.
func TestHostileMessages(t *testing.T) {
	wire := openWire(t, t.TempDir())
	wire.lines.Buffer(nil, 4<<20)
	wire.initialize()
	url, token, pid := servedBy(t, t.TempDir())
	web := newHTTPWire(t, url, token)

	var listed struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema schema
			}
		}
	}
	if err := json.Unmarshal(web.ask(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`), &listed); err != nil {
		t.Fatal(err)
	}
	rows := messagesThatAreRefused()
	for _, tool := range listed.Result.Tools {
		rows = append(rows, argumentsThatAreRefused(tool.Name, tool.InputSchema, nil)...)
	}
	if len(rows) < 400 {
		t.Errorf("only %d rows", len(rows))
	}
	asked := 0
	for i, row := range rows {
		if testing.Short() && i%10 != 0 && i >= 10 {
			continue
		}
		asked++
		answer := ""
		if i%2 == 0 {
			answer = wire.ask(1000+i, row.message)
		} else {
			answer = string(web.ask(row.message))
		}
		checkRefusal(t, row, answer)
	}
	t.Logf("%d of %d rows; memory at most: %d MB over stdio, %d MB over HTTP", asked, len(rows), peakMB(t, wire.cmd.Process.Pid), peakMB(t, pid))
	for _, pid := range []int{pid, wire.cmd.Process.Pid} {
		if mb := peakMB(t, pid); mb > 200 {
			t.Errorf("a server grew to %d MB", mb)
		}
	}
}

func checkRefusal(t *testing.T, row hostileRow, answer string) {
	t.Helper()
	var m struct {
		Error  *struct{ Message string }
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(answer), &m); err != nil {
		t.Errorf("%s: the answer %.200q is no JSON: %v", row.name, answer, err)
		return
	}
	said := ""
	switch {
	case m.Error != nil:
		said = "error: " + m.Error.Message
	case m.Result.IsError && len(m.Result.Content) == 1:
		said = m.Result.Content[0].Text
	default:
		t.Errorf("%s: %.200s was not refused: %.300s", row.name, row.message, answer)
		return
	}
	for _, want := range row.want {
		if !strings.Contains(said, want) {
			t.Errorf("%s: %.200s is answered %.400q, want %q in it", row.name, row.message, said, want)
		}
	}
	if found := goWords.FindString(said); found != "" {
		t.Errorf("%s: %.200s is answered in words of Go, %q: %.400q", row.name, row.message, found, said)
	}
	if strings.Contains(said, "hunter2") {
		t.Errorf("%s: the answer echoes a secret: %.400q", row.name, said)
	}
	if strings.ContainsAny(said, "\x1b\u202e\r") || len(said) > 4000 {
		t.Errorf("%s: %.200s is answered in %d bytes that are not plain: %.400q", row.name, row.message, len(said), said)
	}
}

// ask sends a message and returns the answer to it.
func (w *wire) ask(id int, message string) string {
	w.t.Helper()
	w.send("%s", strings.Replace(message, "%d", fmt.Sprint(id), 1))
	for w.lines.Scan() {
		var m struct{ ID *int }
		if json.Unmarshal(w.lines.Bytes(), &m) == nil && m.ID != nil && *m.ID == id {
			return w.lines.Text()
		}
	}
	w.t.Fatalf("stdout ended before the answer to %.200s", message)
	return ""
}

// An httpWire is one session over HTTP.
type httpWire struct {
	t              testing.TB
	url, token, id string
	asked          int
}

func newHTTPWire(t testing.TB, url, token string) *httpWire {
	w := &httpWire{t: t, url: url, token: token}
	w.ask(`{"jsonrpc":"2.0","id":%d,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`)
	return w
}

// ask posts a message and returns the answer to it, whatever its status.
func (w *httpWire) ask(message string) []byte {
	w.t.Helper()
	w.asked++
	r, err := http.NewRequest(http.MethodPost, w.url, strings.NewReader(strings.Replace(message, "%d", fmt.Sprint(w.asked), 1)))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if w.id != "" {
		r.Header.Set(server.HeaderKeySessionID, w.id)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	if w.id == "" {
		w.id = answer.Header.Get(server.HeaderKeySessionID)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return bytes.TrimSpace(body)
}

// peakMB is how much memory a process ever had.
func peakMB(t testing.TB, pid int) (mb int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &mb); err == nil {
			return mb >> 10
		}
	}
	t.Fatalf("process %d does not say how much memory it has", pid)
	return 0
}
