package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestReporter(t *testing.T) {
	var sent []float64
	r := &reporter{token: 1, send: func(p map[string]any) { sent = append(sent, p["progress"].(float64)) }}
	r.report(2, 10, "first")
	r.report(3, 10, "within the same second")
	r.sent = r.sent.Add(-progressEvery)
	r.report(2, 10, "no further than before")
	r.report(10, 10, "all of it")
	r.report(4, 10, "later")
	r.settle(false)
	r.sent = r.sent.Add(-progressEvery)
	r.report(5, 10, "after the answer")
	if fmt.Sprint(sent) != "[2 4]" {
		t.Errorf("sent %v", sent)
	}
}

func TestFilter(t *testing.T) {
	note := func(token string) string {
		return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1}}` + "\n"
	}
	const quotes = `{"jsonrpc":"2.0","id":1,"result":{"text":"\"notifications/progress\""}}` + "\n"
	var out bytes.Buffer
	f := &filter{to: &out, done: newFinished()}
	f.done.add("7")
	for _, line := range []string{note("7"), note(`"7"`), note("8"), quotes} {
		if n, err := f.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := note(`"7"`) + note("8") + quotes; out.String() != want {
		t.Errorf("passed on:\n%s", out.String())
	}
	f.done.begin("7") // a host may use a token again
	out.Reset()
	f.Write([]byte(note("7")))
	if out.Len() == 0 {
		t.Error("a token used again is silent")
	}
}

func TestFinishedIsBounded(t *testing.T) {
	f := newFinished()
	for i := range 3 * finishedKept {
		f.add(fmt.Sprint(i))
	}
	if len(f.tokens) > finishedKept || len(f.order) > finishedKept || !f.has(fmt.Sprint(3*finishedKept-1)) {
		t.Errorf("%d tokens are kept", len(f.tokens))
	}
}

// mcp-go sends notifications on another goroutine than answers: without the
// filter and the grace, most of these would be late.
func TestNoLateProgressOnStdio(t *testing.T) {
	f := newFake("run-1", "mqtt/broker-kill-9")
	for i := range 20 {
		f.progress = append(f.progress, keeper.Progress{At: float64(i + 1), Phase: history.PhaseSteady})
	}
	seen := make(chan struct{}) // a notification: before that no call ends
	release := sync.OnceFunc(func() { close(seen) })
	defer time.AfterFunc(hosttest.Bound, release).Stop()
	f.held = seen
	h := &host{live: []*fake{f}, runs: runsDir(t)}
	in, send := io.Pipe()
	receive, out := io.Pipe()
	served := make(chan error, 1)
	s := h.server(t, Options{})
	go func() {
		served <- s.ServeStdio(t.Context(), in, out, log.New(io.Discard, "", 0))
		out.Close()
	}()
	const calls = 60
	go func() {
		io.WriteString(send, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`+"\n")
		io.WriteString(send, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
		for id := 1; id <= calls; id++ {
			fmt.Fprintf(send, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"cluster_stop","arguments":{"wait_s":5},"_meta":{"progressToken":%d}}}`+"\n", id, id)
		}
	}()
	answered, progress := map[float64]bool{}, 0
	for lines := bufio.NewScanner(receive); len(answered) <= calls && lines.Scan(); {
		var m struct {
			ID     *float64 `json:"id"`
			Params struct {
				Token float64 `json:"progressToken"`
			} `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		if m.ID != nil {
			answered[*m.ID] = true
			if bytes.Contains(lines.Bytes(), []byte("initialize yet")) {
				t.Errorf("a call behind initialize is refused: %s", lines.Text())
			}
			continue
		}
		progress++
		release()
		if answered[m.Params.Token] {
			t.Errorf("late: %s", lines.Text())
		}
	}
	if progress == 0 || len(answered) != calls+1 {
		t.Errorf("%d notifications before %d answers", progress, len(answered))
	}
	go io.Copy(io.Discard, receive)
	send.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
