package loglines

import (
	"strings"
	"testing"
)

func TestLevel(t *testing.T) {
	for line, want := range map[string]string{
		"[17] 2026/11/21 01:42:42.872783 [ERR] JetStream failed":                       Error,
		"[17] 2026/11/21 01:42:31.738942 [WRN] Waiting for routing to be es":           Warn,
		"[17] 2026/11/21 01:42:42.872783 [DBG] dbg":                                    Debug,
		"2026-08-21T07:57:14.123456Z  WARN meta_service::raft: slow":                   Warn,
		"2026-08-21T07:57:14.123456Z  INFO meta_service::raft: 0 errors, error rate 0": Info,
		"2026-08-21T07:57:14.123456Z ERROR broker: cannot write":                       Error,
		`{"timestamp":"…","level":"INFO","fields":{"message":"an error"}}`:             Info,
		`{"timestamp":"…","level":"error","fields":{"message":"x"}}`:                   Error,
		"time=2026 level=warn msg=x":                                                   Warn,
		"1763689356: mosquitto version 2.0.11 running":                                 Info,
		"1763689356: Error: Address already in use":                                    Error,
		"Error: Unable to open config file":                                            Error,
		"1763689356: Warning: Mosquitto should not be run as root":                     Warn,
		"1763689356: Client a disconnected due to protocol error.":                     Info,
		"2026-11-21 [error] mqtt: refused":                                             Error,
		"thread 'main' panicked at src/lib.rs:1:1":                                     Error,
		"panic: runtime error: index out of range":                                     Error,
		"2026-11-21T01:42:42Z  INFO supervisor: thread 'x' panicked at src/lib.rs:1:1": Error,
		"": Info,
	} {
		if got := Level(line); got != want {
			t.Errorf("level of %q is %q, want %q", line, got, want)
		}
	}
}

func TestPanics(t *testing.T) {
	for line, want := range map[string]bool{
		"thread 'tokio-runtime-worker' panicked at src/x.rs:4:2:":     true,
		"thread 'main' has overflowed its stack":                      true,
		"fatal error: all goroutines are asleep - deadlock!":          true,
		"2026-01-01 WARN raft: fatal error: connection reset by peer": false,
		"INFO topic a/stack overflow/b created":                       false,
		"panic: runtime error: index out of range":                    true,
		"fatal error: concurrent map writes":                          true,
		"INFO don't panic: all is well":                               false,
	} {
		if got := Panics(line); got != want {
			t.Errorf("%q is a panic: %v, want %v", line, got, want)
		}
	}
}

func TestPage(t *testing.T) {
	lines := []Line{}
	for i, l := range []struct{ node, text string }{
		{"node-1", "INFO a"}, {"node-1", "ERROR b"}, {"node-2", "INFO between"}, {"node-1", "INFO c"}, {"node-1", "ERROR d"}, {"node-2", "panic: p"}, {"node-1", "WARN e"},
	} {
		lines = append(lines, Line{l.node, float64(i), Level(l.text), l.text})
	}
	page := func(q Query) (string, *Page) {
		t.Helper()
		p, err := NewPage(q)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, l := range lines {
			p.Take(l)
		}
		for _, l := range p.Lines {
			texts = append(texts, l.Text)
		}
		return strings.Join(texts, "|"), p
	}
	first, p := page(Query{Level: Warn, Limit: 2})
	if first != "ERROR b|ERROR d" || p.Next == "" || p.Total != 4 || p.Levels[Error] != 3 {
		t.Errorf("first page %q, %+v", first, p)
	}
	if rest, p := page(Query{Level: Warn, Limit: 2, After: p.Next}); rest != "panic: p|WARN e" || p.Next != "" {
		t.Errorf("second page %q, next %q", rest, p.Next)
	}
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{Match: "b$", Context: 1, Limit: 9}, "INFO a|ERROR b|INFO c"}, // of the same node
		{Query{FromS: 3, ToS: 4, Limit: 9}, "INFO c|ERROR d"},
		{Query{Node: "node-2", Limit: 9}, "INFO between|panic: p"},
		{Query{Level: Error, Context: 1, Limit: 9}, "INFO a|ERROR b|INFO c|ERROR d|INFO between|panic: p|WARN e"},
	} {
		if got, _ := page(c.q); got != c.want {
			t.Errorf("%+v finds %q, want %q", c.q, got, c.want)
		}
	}
	for _, bad := range []Query{{Level: "loud"}, {Match: "("}, {After: "x"}, {After: "-1"}} {
		if _, err := NewPage(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
