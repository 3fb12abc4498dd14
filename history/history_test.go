package history_test

import (
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
)

// fillTables gives a recorder 2 nodes, 1 process and 3 streams: few, as some
// tests read them thousands of times.
func fillTables(r *history.Recorder) {
	r.Node(history.Node{Name: "node-1", Address: "198.18.0.1"})
	r.Node(history.Node{Name: "node-2", Address: "198.18.0.2"})
	r.Process(history.Process{Name: "pub-1", Filters: []history.Filter{{Filter: "a/#", QoS: 1}}})
	for qos := range uint8(3) {
		r.Stream(history.Stream{Producer: 0, Topic: "a/b", QoS: qos})
	}
}

// randomEvents are events that fit the tables of fillTables. Their Index is
// set.
func randomEvents(rng *rand.Rand, n int) []history.Event {
	events := make([]history.Event, n)
	for i := range events {
		e := history.Event{
			Index:   int64(i),
			Call:    rng.Int64N(int64(i)+1) - 1,
			Time:    time.Duration(rng.Int64()),
			Process: rng.Int32N(2) - 1,
			Conn:    rng.Int32(),
			Kind:    history.Kind(rng.UintN(256)),
			Edge:    history.Edge(rng.UintN(256)),
			Via:     history.Source(rng.UintN(256)),
			Outcome: history.Outcome(rng.UintN(256)),
			Reason:  uint8(rng.UintN(256)),
			QoS:     uint8(rng.UintN(256)),
			Flags:   history.Flags(rng.UintN(256)),
			Node:    int16(rng.IntN(3) - 1),
			Stream:  rng.Int32N(4) - 1,
			Seq:     rng.Int64() - 1,
			ID:      -rng.Int64(),
			Value:   rng.NormFloat64(),
		}
		if rng.IntN(8) == 0 {
			e.Text = randomText(rng)
		}
		events[i] = e
	}
	return events
}

func randomText(rng *rand.Rand) string {
	letters := []rune("abc é\n\t世🙂")
	text := make([]rune, rng.IntN(20))
	for i := range text {
		text[i] = letters[rng.IntN(len(letters))]
	}
	return string(text)
}

// readAll reads a history to its end.
func readAll(t *testing.T, dir string) (events []history.Event, ended bool) {
	t.Helper()
	r, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		b, err := r.Next()
		if err == io.EOF {
			return events, r.Ended()
		}
		if err != nil {
			t.Fatal(err)
		}
		for e := range history.Events(b) {
			events = append(events, e)
		}
	}
}

// record records events into a new history and closes it.
func record(t *testing.T, dir string, opts history.Options, events []history.Event) {
	t.Helper()
	r, err := history.Create(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	fillTables(r)
	for _, e := range events {
		r.Record(e)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRoundTrip(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 3))
		want := randomEvents(rng, rng.IntN(3000))
		dir := t.TempDir()
		record(t, dir, history.Options{BatchRows: 1 + rng.IntN(500)}, want)
		got, ended := readAll(t, dir)
		if !slices.Equal(want, got) { // a cmp.Diff of equal ones takes far longer
			t.Fatalf("seed %d: events (-recorded +read):\n%s", seed, cmp.Diff(want, got))
		}
		if !ended {
			t.Errorf("seed %d: a closed history is not ended", seed)
		}
	}
}

func TestTablesRoundTrip(t *testing.T) {
	dir := t.TempDir()
	w, err := history.Create(dir, history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fillTables(w)
	if got := w.Node(history.Node{Name: "witness"}); got != 2 {
		t.Errorf("the third node has number %d", got)
	}
	want := w.Tables()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if diff := cmp.Diff(&want, r.Tables()); diff != "" {
		t.Errorf("tables (-recorded +read):\n%s", diff)
	}
}

func TestTextDoesNotAllocateWhenEmpty(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, history.Options{}, []history.Event{blank, blank})
	r, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _ = b.Text(1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestBatchOfIsItsEvents(t *testing.T) {
	want := randomEvents(rand.New(rand.NewPCG(1, 1)), 50)
	var got []history.Event
	for e := range history.Events(history.BatchOf(nil, want)) {
		got = append(got, e)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-given +read):\n%s", diff)
	}
}

func TestBatchOfNumbersLiterals(t *testing.T) {
	tests := []struct {
		name   string
		events []history.Event
		want   []int64
	}{
		{"literals", make([]history.Event, 3), []int64{0, 1, 2}},
		{"a copy with a hole", []history.Event{{Index: 0}, {Index: 2}, {Index: 3}}, []int64{0, 2, 3}},
		{"nothing", nil, []int64{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, history.BatchOf(nil, test.events).Index); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A broker's topic or an SDK's error may try to write to the terminal of who reads
// the report.
func TestTextIsPlain(t *testing.T) {
	dir, none := t.TempDir(), int64(history.None)
	record(t, dir, history.Options{}, []history.Event{{Call: none, Node: history.None, Process: history.None, Stream: history.None, Seq: none, ID: none,
		Kind: history.KindDriver, Text: "a\x1b[2Jb"}})
	if got, _ := readAll(t, dir); len(got) != 1 || got[0].Text != "a␛[2Jb" {
		t.Errorf("it is read as %+v", got)
	}
}
