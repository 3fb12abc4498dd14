package clients_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/internal/history"
)

// memory is a history in memory.
type memory struct {
	mu      sync.Mutex
	events  []history.Event
	changed chan struct{}
	tables  history.Tables
}

func newMemory(streams int) *memory {
	return &memory{changed: make(chan struct{}), tables: history.Tables{Streams: make([]history.Stream, streams)}}
}

func (m *memory) Record(e history.Event) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.Index = int64(len(m.events))
	m.events = append(m.events, e)
	close(m.changed)
	m.changed = make(chan struct{})
	return e.Index
}

func (m *memory) Tables() history.Tables { return m.tables }

func (m *memory) all() []history.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.events)
}

// count counts the events that match.
func (m *memory) count(match func(history.Event) bool) int {
	n := 0
	for _, e := range m.all() {
		if match(e) {
			n++
		}
	}
	return n
}

// wait waits until n events match.
func (m *memory) wait(t *testing.T, what string, n int, match func(history.Event) bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		m.mu.Lock()
		changed := m.changed
		m.mu.Unlock()
		got := m.count(match)
		if got >= n {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			for _, e := range m.all() {
				t.Logf("%+v", e)
			}
			t.Fatalf("%s: %d of %d after 30 s", what, got, n)
		}
	}
}

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
}

// start starts a driver that is gone when the test is.
func start(t *testing.T, program clients.Program, streams int, list ...clients.Client) run {
	t.Helper()
	m := newMemory(streams)
	d, err := clients.Start(t.Context(), clients.Options{
		Command:  program,
		Spec:     clients.Spec{Run: "testtest", AckWaitMS: 10000, Clients: list},
		Recorder: m,
		Clock:    history.NewClock(),
		Node:     func(string) int16 { return 0 },
		Stderr:   &logs{t: t},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Close()
		<-d.Done()
	})
	return run{d, m}
}

// do sends a command.
func (r run) do(t *testing.T, command string, process int32) {
	t.Helper()
	if err := r.Do(clients.Command{Do: command, Process: process}); err != nil {
		t.Fatal(err)
	}
}

// finish ends the driver in order.
func (r run) finish(t *testing.T) {
	t.Helper()
	r.do(t, "end", clients.All)
	select {
	case <-r.Done():
	case <-time.After(60 * time.Second):
		t.Fatal("not done 60 s after end")
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

// logs is what a driver prints, in the log of the test.
type logs struct {
	t  *testing.T
	mu sync.Mutex
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t.Context().Err() == nil {
		l.t.Logf("driver: %s", b)
	}
	return len(b), nil
}
