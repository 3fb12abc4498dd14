package clients_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// memory is a history in memory.
type memory struct{ *history.Memory }

func newMemory(streams int) *memory {
	return &memory{history.NewMemory(history.Tables{Streams: make([]history.Stream, streams)})}
}

func (m *memory) all() []history.Event { return m.Events() }

// count counts the events that match.
func (m *memory) count(match func(history.Event) bool) int { return m.Count(match) }

// is matches events of a process and kind.
func is(process int32, kind history.Kind, edge history.Edge) func(history.Event) bool {
	return func(e history.Event) bool { return e.Process == process && e.Kind == kind && e.Edge == edge }
}

// and narrows a match.
func and(a, b func(history.Event) bool) func(history.Event) bool {
	return func(e history.Event) bool { return a(e) && b(e) }
}

func ok(e history.Event) bool  { return e.Outcome == history.OK }
func end(e history.Event) bool { return e.Flags.Has(history.FlagEnd) }

// run is a driver under test.
type run struct {
	*clients.Driver
	*memory
	logs *logs
	wire *proxy // that its clients' packets pass; nil: none
}

// start starts a driver that is gone when the test is.
func start(t *testing.T, program clients.Program, streams int, list ...contract.Client) run {
	t.Helper()
	m, printed := newMemory(streams), &logs{t: t}
	d, err := clients.Start(t.Context(), clients.Options{
		Command:  program,
		Spec:     contract.Spec{Run: "testtest", AckWaitMS: 10000, Clients: list},
		Recorder: m,
		Clock:    history.NewClock(),
		Node:     func(string) int16 { return 0 },
		Stderr:   printed,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Close()
		<-d.Done()
	})
	return run{d, m, printed, nil}
}

// wait waits until n events match, as long as the driver lives.
func (r run) wait(t *testing.T, what string, n int, match func(history.Event) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hosttest.Bound)
	defer cancel()
	go func() {
		select {
		case <-r.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	if got := r.Wait(ctx, n, match); got < n {
		r.unlessCorrupted(t)
		for _, e := range r.all() {
			t.Logf("%+v", e)
		}
		t.Fatalf("%s: %d of %d after %v, or when the driver ended", what, got, n, hosttest.Bound)
	}
}

// corrupted is what ends a test before untilCorrupted.
type corrupted struct{}

// unlessCorrupted ends the test if the driver's library has corrupted its own
// memory, a known defect of Paho C: any other result would be chance. The driver's
// packets may be garbage by then. If the library reports the corruption, the driver
// must end by it.
func (r run) unlessCorrupted(t *testing.T) {
	t.Helper()
	garbage := r.wire.garbled()
	if !r.logs.corrupted.Load() && garbage == nil {
		return
	}
	if sdk := r.Hello().SDK; sdk != "paho.mqtt.c" {
		t.Errorf("%s says that it is Paho C, or sends garbage: %q", sdk, garbage)
	}
	if !r.logs.corrupted.Load() {
		t.Logf("it ends early: paho.mqtt.c#1459, a PUBLISH of %q", garbage)
		panic(corrupted{})
	}
	select {
	case <-r.Done():
	case <-time.After(hosttest.Bound):
		t.Error("Paho C has corrupted its memory, and its driver goes on")
	}
	ended := func(e history.Event) bool {
		return e.Kind == history.KindDriver && strings.Contains(e.Text, "it ended without bye")
	}
	if r.count(ended) != 1 {
		t.Errorf("Paho C has corrupted its memory, and of its driver is said: %v", r.Err())
	}
	t.Log("it ends early: paho.mqtt.c#1459")
	panic(corrupted{})
}

// untilCorrupted is deferred by a test that unlessCorrupted may end.
func untilCorrupted() {
	switch why := recover().(type) {
	case nil, corrupted:
	default:
		panic(why)
	}
}

// do sends a command.
func (r run) do(t *testing.T, command string, process int32) {
	t.Helper()
	if err := r.Do(contract.Command{Do: command, Process: process}); err != nil {
		r.unlessCorrupted(t)
		t.Fatal(err)
	}
}

// finish ends the driver in order.
func (r run) finish(t *testing.T) {
	t.Helper()
	r.do(t, "end", contract.All)
	select {
	case <-r.Done():
	case <-time.After(hosttest.Bound):
		t.Fatalf("not done %v after end", hosttest.Bound)
	}
	if err := r.Err(); err != nil {
		r.unlessCorrupted(t)
		t.Error(err)
	}
}

// logs is what a driver prints, in the log of the test.
type logs struct {
	t         *testing.T
	mu        sync.Mutex
	corrupted atomic.Bool // by a defect of Paho C
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(b, []byte("paho.mqtt.c#1459")) {
		l.corrupted.Store(true)
	}
	if l.t.Context().Err() == nil {
		l.t.Logf("driver: %s", b)
	}
	return len(b), nil
}
