package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A wire is the server's stdio, line by line, as a host sees it.
type wire struct {
	t     testing.TB
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
	late  []string // progress for tokens whose calls had answered
	done  map[string]bool
}

func openWire(t testing.TB, dir string) *wire {
	t.Helper()
	return openWireEnv(t, dir, nil)
}

// openWireEnv is openWire with an environment and more flags.
func openWireEnv(t testing.TB, dir string, env []string, flags ...string) *wire {
	t.Helper()
	w := &wire{t: t, cmd: rmq(t, dir, append([]string{"serve"}, flags...)...), done: map[string]bool{}}
	w.cmd.Env = env
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.lines = bufio.NewScanner(out)
	w.lines.Buffer(nil, 1<<20)
	return w
}

type message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params struct {
		Token    any     `json:"progressToken"`
		Progress float64 `json:"progress"`
	} `json:"params"`
}

func (w *wire) send(format string, args ...any) {
	w.t.Helper()
	if _, err := fmt.Fprintf(w.in, format+"\n", args...); err != nil {
		w.t.Fatal(err)
	}
}

// next reads one message; anything that is not JSON fails the test.
func (w *wire) next() (message, bool) {
	w.t.Helper()
	if !w.lines.Scan() {
		return message{}, false
	}
	var m message
	if err := json.Unmarshal(w.lines.Bytes(), &m); err != nil {
		w.t.Fatalf("stdout has a line that is not JSON: %q", w.lines.Text())
	}
	if m.Method == "notifications/progress" && w.done[fmt.Sprint(m.Params.Token)] {
		w.late = append(w.late, w.lines.Text())
	}
	return m, true
}

// answers reads until all these calls have answered. A call's token is its id.
func (w *wire) answers(ids ...int) map[int]message {
	w.t.Helper()
	got := map[int]message{}
	for len(got) < len(ids) {
		m, ok := w.next()
		if !ok {
			w.t.Fatalf("stdout ended after %d of %d answers", len(got), len(ids))
		}
		if m.ID != nil {
			got[*m.ID] = m
			w.done[fmt.Sprint(*m.ID)] = true
		}
	}
	return got
}

func (w *wire) initialize() {
	w.t.Helper()
	w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`)
	w.answers(0)
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// endBefore is sooner than any call that waits returns.
const endBefore = 30 * time.Second

// end closes stdin and waits; nothing that a call waits for may hold that up.
func (w *wire) end() {
	w.t.Helper()
	w.in.Close()
	exited := make(chan error, 1)
	go func() {
		for {
			if _, ok := w.next(); !ok {
				exited <- w.cmd.Wait()
				return
			}
		}
	}()
	select {
	case err := <-exited:
		if err != nil {
			w.t.Errorf("the server ended with %v", err)
		}
	case <-time.After(endBefore):
		w.cmd.Process.Kill()
		w.t.Errorf("the server runs on %v after the end of its input", endBefore)
		<-exited
	}
}

// A host takes progress that arrives after its answer for a broken connection.
func TestNoProgressAfterItsAnswer(t *testing.T) {
	w := openWire(t, t.TempDir())
	w.initialize()
	var ids []int
	for id := 1; id <= 200; id++ {
		ids = append(ids, id)
		tool := []string{"list_scenarios", "cluster_status"}[id%2]
		w.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"progressToken":%d}}}`, id, tool, id)
	}
	w.answers(ids...)
	w.end()
	if len(w.late) > 0 {
		t.Errorf("%d late notifications, the first: %s", len(w.late), w.late[0])
	}
}

// A long call holds up no other call, and nothing holds up the end.
func TestInputEndsTheServerWhileACallWaits(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	dir := t.TempDir()
	w := openWire(t, dir)
	w.initialize()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_scenario","arguments":{"scenario":"mqtt/qos-roundtrip","wait_s":45},"_meta":{"progressToken":1}}}`)
	last := 0.0
	for { // the run shows that it is under way
		m, ok := w.next()
		if !ok || m.ID != nil {
			t.Fatalf("the run answered at once: %s", w.lines.Text())
		}
		if m.Method == "notifications/progress" {
			if m.Params.Progress <= last {
				t.Errorf("progress went from %g to %g", last, m.Params.Progress)
			}
			if last > 0 {
				break
			}
			last = m.Params.Progress
		}
	}
	for id := 2; id <= 11; id++ {
		w.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"list_scenarios","arguments":{}}}`, id)
	}
	w.answers(2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
	w.end()
	stopAll(t, dir)
}
