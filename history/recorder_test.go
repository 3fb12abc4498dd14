package history_test

import (
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestConcurrentRecording(t *testing.T) {
	const writers, each = 8, 2000
	dir := t.TempDir()
	var live []int64
	w, err := history.Create(dir, history.Options{
		BatchRows: 64,
		OnEvent:   func(e history.Event) { live = append(live, e.Index) },
	})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			p := w.Process(history.Process{Name: "p"})
			for seq := range int64(each) {
				call := w.Record(history.Event{Call: history.None, Process: p, Node: history.None, Stream: history.None, Seq: seq, Edge: history.Call})
				w.Record(history.Event{Call: call, Process: p, Node: history.None, Stream: history.None, Seq: seq, Edge: history.Return})
				if seq%500 == 0 {
					if err := w.Sync(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	events, ended := readAll(t, dir)
	if len(events) != writers*each*2 || len(live) != len(events) || !ended {
		t.Fatalf("read %d events, saw %d live, ended %t; recorded %d", len(events), len(live), ended, writers*each*2)
	}
	next := make(map[int32]int64)
	for i, e := range events {
		if e.Index != int64(i) || live[i] != int64(i) {
			t.Fatalf("row %d has index %d, was seen live as %d", i, e.Index, live[i])
		}
		if e.Edge == history.Call {
			if e.Seq != next[e.Process] {
				t.Fatalf("process %d called %d, %d was due", e.Process, e.Seq, next[e.Process])
			}
			next[e.Process]++
			continue
		}
		if call := events[e.Call]; call.Process != e.Process || call.Seq != e.Seq {
			t.Fatalf("%+v does not return from %+v", e, call)
		}
	}
}

// TestSyncedRowsAreInTheFile reads a history that is still in writing.
func TestSyncedRowsAreInTheFile(t *testing.T) {
	dir := t.TempDir()
	w, err := history.Create(dir, history.Options{FlushEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fillTables(w)
	want := randomEvents(rand.New(rand.NewPCG(1, 2)), 10)
	for i, e := range want {
		w.Record(e)
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
		got, ended := readAll(t, dir)
		if diff := cmp.Diff(want[:i+1], got); diff != "" {
			t.Fatalf("events (-recorded +read):\n%s", diff)
		}
		if ended {
			t.Fatal("a history in writing is ended")
		}
	}
}

// TestRowsReachTheFileInTime waits for a row that nobody syncs.
func TestRowsReachTheFileInTime(t *testing.T) {
	dir := t.TempDir()
	w, err := history.Create(dir, history.Options{FlushEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 3 {
		w.Record(blank)
		recorded, _ := readAll(t, dir)
		for deadline := time.Now().Add(hosttest.Bound); len(recorded) == 0; recorded, _ = readAll(t, dir) {
			if time.Now().After(deadline) {
				t.Fatal("not in the file after 30 s")
			}
		}
	}
}

// blank is an event that names nothing.
var blank = history.Event{Call: history.None, Process: history.None, Node: history.None, Stream: history.None}

func TestRecordRefusesWhatNamesNothing(t *testing.T) {
	tests := []struct {
		name  string
		event func(*history.Event)
		want  string
	}{
		{"node", func(e *history.Event) { e.Node = 2 }, "node 2 of 2"},
		{"process", func(e *history.Event) { e.Process = -2 }, "process -2 of 1"},
		{"stream", func(e *history.Event) { e.Stream = 3 }, "stream 3 of 3"},
		{"its own call", func(e *history.Event) { e.Call = 0 }, "call 0 of 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			w, err := history.Create(dir, history.Options{})
			if err != nil {
				t.Fatal(err)
			}
			fillTables(w)
			e := blank
			test.event(&e)
			w.Record(e)
			if err := w.Close(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Close: %v; want %q", err, test.want)
			}
			events, _ := readAll(t, dir)
			if diff := cmp.Diff([]history.Event{blank}, events); diff != "" {
				t.Errorf("recorded all the same (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRecordAfterClose(t *testing.T) {
	w, err := history.Create(t.TempDir(), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if i := w.Record(blank); i != history.None {
		t.Errorf("recorded as %d", i)
	}
	if w.Err() == nil || w.Close() == nil || w.Sync() == nil {
		t.Error("nobody was told")
	}
}

func TestCreateKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, history.Options{}, randomEvents(rand.New(rand.NewPCG(1, 2)), 10))
	if _, err := history.Create(dir, history.Options{}); err == nil || !strings.Contains(err.Error(), "new run directory") {
		t.Errorf("Create: %v", err)
	}
	if events, ended := readAll(t, dir); len(events) != 10 || !ended {
		t.Errorf("%d events left, ended %t", len(events), ended)
	}
}

func TestReadAfterClose(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, history.Options{}, nil)
	r, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err == nil || err == io.EOF {
		t.Errorf("Next: %v", err)
	}
}
