package scenarios

import (
	"testing"

	"github.com/robustmq/rmq-mcp/internal/keeper"
)

func TestLevel(t *testing.T) {
	for line, want := range map[string]string{
		"[17] 2026/11/21 01:42:42.872783 [ERR] JetStream failed":             "error",
		"2026-08-21T07:57:14.123456Z  WARN meta_service::raft: slow":         "warn",
		`{"timestamp":"…","level":"INFO","fields":{"message":"an error"}}`:   "info",
		"1763689356: mosquitto version 2.0.11 running":                       "",
		"[17] 2026/11/21 01:42:42.872783 [DBG] dbg":                          "debug",
		"thread 'main' panicked at src/lib.rs:1:1":                           "",
		"[17] 2026/11/21 01:42:31.738942 [WRN] Waiting for routing to be es": "warn",
	} {
		if got := level(line); got != want {
			t.Errorf("level of %q is %q, want %q", line, got, want)
		}
	}
}

func TestPanicLine(t *testing.T) {
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
		if got := panicLine.MatchString(line); got != want {
			t.Errorf("%q is a panic: %v, want %v", line, got, want)
		}
	}
}

func TestLogsPaged(t *testing.T) {
	e := &Experiment{logs: &logs{}}
	e.ready.Store(true)
	for i, text := range []string{"INFO a", "ERROR b", "INFO c", "ERROR d", "WARN e"} {
		e.logs.lines = append(e.logs.lines, keeper.LogLine{Node: "node-1", At: float64(i), Level: level(text), Text: text})
	}
	texts := func(q keeper.Logs) (out string, next string) {
		t.Helper()
		got, err := e.Logs(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range got.Lines {
			out += l.Text + "|"
		}
		return out, got.Next
	}
	first, next := texts(keeper.Logs{Level: "warn", Limit: 2})
	if first != "ERROR b|ERROR d|" || next == "" {
		t.Errorf("first page %q, next %q", first, next)
	}
	if rest, next := texts(keeper.Logs{Level: "warn", Limit: 2, After: next}); rest != "WARN e|" || next != "" {
		t.Errorf("second page %q, next %q", rest, next)
	}
	if around, _ := texts(keeper.Logs{Match: "b", Context: 1, Limit: 9}); around != "INFO a|ERROR b|INFO c|" {
		t.Errorf("around b: %q", around)
	}
	if window, _ := texts(keeper.Logs{FromS: 2, ToS: 3, Limit: 9}); window != "INFO c|ERROR d|" {
		t.Errorf("from 2 to 3 s: %q", window)
	}
	for _, bad := range []keeper.Logs{{Level: "loud"}, {Match: "("}, {After: "x"}} {
		if _, err := e.Logs(t.Context(), bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
