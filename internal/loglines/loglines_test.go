package loglines

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
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

// A panic has the place and the message that its log names, in each form that runtimes
// write.
func TestPanicReader(t *testing.T) {
	for _, c := range []struct {
		name, log string
		want      []Panic
	}{
		{"Rust", "INFO a\n2026-11-26 thread 'tokio-runtime-worker' panicked at src/raft/store.rs:41:10:\ncalled `Option::unwrap()` on a `None` value\nnote: run with `RUST_BACKTRACE=1`", []Panic{
			{Line: 2, Thread: "tokio-runtime-worker", File: "src/raft/store.rs", At: 41, Message: "called `Option::unwrap()` on a `None` value"}}},
		{"Rust, with the thread's number", "thread 'main' (1234) panicked at /home/build/.cargo/registry/src/index.crates.io-1/rocksdb-0.22.0/src/db.rs:7:1:\nno", []Panic{
			{Line: 1, Thread: "main", File: "/home/build/.cargo/registry/src/index.crates.io-1/rocksdb-0.22.0/src/db.rs", At: 7, Message: "no"}}},
		{"Rust before 1.73", "thread 'main' panicked at 'it's over', src/lib.rs:1:2\nINFO b", []Panic{{Line: 1, Thread: "main", File: "src/lib.rs", At: 1, Message: "it's over"}}},
		{"Go", "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nruntime.gopanic(0x1)\n\truntime/panic.go:1 +0x1\nmain.f(...)\n\tgithub.com/x/y@v2.1.0/server/a.go:12\nmain.main()\n\tmain.go:3 +0x2", []Panic{
			{Line: 1, File: "github.com/x/y@v2.1.0/server/a.go", At: 12, Message: "runtime error: index out of range [3] with length 3"}}},
		{"Go, with a signal", "panic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1]\n\ngoroutine 1 [running]:\nmain.f(...)\n\ta.go:12 +0x1", []Panic{
			{Line: 1, File: "a.go", At: 12, Message: "runtime error: invalid memory address"}}},
		{"Go, a fatal error", "fatal error: sync: unlock of unlocked mutex\n\ngoroutine 1 [running]:\nsync.fatal({0x1, 0x2})\n\t/usr/local/go/src/runtime/panic.go:1068 +0x18\nsync.(*Mutex).unlockSlow(0x1)\n\t/usr/local/go/src/sync/mutex.go:229 +0x35\nmain.f()\n\ta.go:7 fp=0x1 sp=0x2 pc=0x3", []Panic{
			{Line: 1, File: "/usr/local/go/src/sync/mutex.go", At: 229, Message: "sync: unlock of unlocked mutex"}}},
		{"no place", "thread 'main' has overflowed its stack\nINFO b", []Panic{{Line: 1, Message: "stack overflow"}}},
		{"another thread's line", "thread 'a' panicked at src/a.rs:1:1:\n2026-11-26T10:00:00Z  INFO mqtt: client connected", []Panic{{Line: 1, Thread: "a", File: "src/a.rs", At: 1}}},
		{"two, the first cut short", "thread 'a' panicked at src/a.rs:1:1:\nthread 'b' panicked at src/b.rs:2:2:\nm", []Panic{
			{Line: 1, Thread: "a", File: "src/a.rs", At: 1}, {Line: 2, Thread: "b", File: "src/b.rs", At: 2, Message: "m"}}},
	} {
		var r PanicReader
		for line := range strings.SplitSeq(c.log, "\n") {
			r.Take(line)
		}
		if got := r.Rest(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// Panics are taken out when all of them is read.
func TestDrain(t *testing.T) {
	var r PanicReader
	r.Take("thread 'a' panicked at src/a.rs:1:1:")
	if got := r.Drain(); len(got) > 0 {
		t.Errorf("%+v", got)
	}
	r.Take("message")
	r.Take("thread 'b' panicked at " + strings.Repeat("ä", 500) + ":1:1:")
	if got := r.Drain(); len(got) != 1 || got[0].Message != "message" {
		t.Errorf("%+v", got)
	}
	if got := r.Rest(); len(got) != 1 || len(got[0].File) > mostText || !utf8.ValidString(got[0].File) {
		t.Errorf("%+v", got)
	}
	if got := r.Rest(); len(got) > 0 {
		t.Errorf("%+v", got)
	}
}

func TestSourceOf(t *testing.T) {
	for file, want := range map[string][2]string{
		"src/a.rs":                             {"", "src/a.rs"},
		"/usr/local/go/src/net/http/server.go": {"go", "net/http/server.go"},
		"/home/build/.cargo/registry/src/index.crates.io-6f17/rocksdb-0.22.0/src/db.rs":           {"rocksdb", "src/db.rs"},
		"/home/build/.cargo/git/checkouts/openraft-9a1b2c3d4e5f6071/1a2b3c4/openraft/src/core.rs": {"openraft", "openraft/src/core.rs"},
		"/rustc/9fc6b43126469e3858e2fe86cafb4f0fd5068869/library/core/src/option.rs":              {"rustc", "library/core/src/option.rs"},
		"/home/build/go/pkg/mod/github.com/nats-io/nats-server/v2@v2.15.2/server/stream.go":       {"github.com/nats-io/nats-server/v2", "server/stream.go"},
		"github.com/nats-io/nats-server/v2@v2.15.3-0.20260101000000-abcdef/server/stream.go":      {"github.com/nats-io/nats-server/v2", "server/stream.go"},
		"/home/somebody/.cargo/registry/src/github.com-1ecc6299db9ec823/tokio-1.40.0/src/lib.rs":  {"tokio", "src/lib.rs"},
	} {
		if library, path := SourceOf(file); [2]string{library, path} != want {
			t.Errorf("%s is %q in %q, want %q", file, path, library, want)
		}
	}
}
