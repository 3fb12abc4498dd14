package history_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
)

// put makes data the content of a file, without emptying it in between: file
// systems that write out what replaces a file do so then.
func put(t *testing.T, path string, data []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(int64(len(data))); err != nil {
		t.Fatal(err)
	}
}

// TestCutAnywhere cuts a small history at every byte, as a crash might, and
// reads it before and after recovering it.
func TestCutAnywhere(t *testing.T) {
	const rows = 3
	dir := t.TempDir()
	want := randomEvents(rand.New(rand.NewPCG(7, 7)), 2*rows)
	record(t, dir, history.Options{BatchRows: rows}, want)
	path := filepath.Join(dir, history.EventsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}

	seen := make(map[int]bool)
	for size := range len(whole) {
		put(t, path, whole[:size])
		torn, ended := readAll(t, dir)
		if ended || len(torn)%rows != 0 || !slices.Equal(want[:len(torn)], torn) {
			t.Fatalf("cut at %d: ended %t, events %v", size, ended, torn)
		}
		seen[len(torn)] = true

		cut, err := history.RecoverUnsynced(dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if int64(size)-cut != int64(len(kept)) || !bytes.HasPrefix(whole, kept) {
			t.Fatalf("cut at %d: %d bytes recovered, %d reported cut", size, len(kept), cut)
		}
		recovered, ended := readAll(t, dir)
		if ended || !slices.Equal(torn, recovered) {
			t.Fatalf("cut at %d: ended %t after recovering, events %v", size, ended, recovered)
		}
		if again, err := history.RecoverUnsynced(dir); again != 0 || err != nil {
			t.Fatalf("cut at %d: recovering again cuts %d, %v", size, again, err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("prefixes of %v events were read, want 0, 3, 6", seen)
	}
}

func TestCutTablesAnywhere(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, history.Options{}, []history.Event{blank})
	path := filepath.Join(dir, history.TablesFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	events, err := os.ReadFile(filepath.Join(dir, history.EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	for size := range len(whole) {
		put(t, path, whole[:size])
		put(t, filepath.Join(dir, history.EventsFile), events)
		torn := size > 0 && whole[size-1] != '\n'
		for _, when := range []string{"before", "after"} {
			got, ended := readAll(t, dir)
			if len(got) != 1 || ended == torn {
				t.Fatalf("cut at %d, %s recovering: %d events, ended %t", size, when, len(got), ended)
			}
			if cut, err := history.RecoverUnsynced(dir); err != nil || (cut > 0) != (torn && when == "before") {
				t.Fatalf("cut at %d, %s: cut %d, %v", size, when, cut, err)
			}
		}
	}
}

// TestRecoverLeavesAnEndedHistory does nothing to what is whole.
func TestRecoverLeavesAnEndedHistory(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, history.Options{}, randomEvents(rand.New(rand.NewPCG(7, 7)), 10))
	if cut, err := history.Recover(dir); cut != 0 || err != nil {
		t.Fatalf("cut %d, %v", cut, err)
	}
	if events, ended := readAll(t, dir); len(events) != 10 || !ended {
		t.Errorf("%d events, ended %t", len(events), ended)
	}
}

// TestChangedAnywhere changes every byte in turn. The result must read as an error or
// as events, never as a panic or a number that names nothing.
func TestChangedAnywhere(t *testing.T) {
	dir := t.TempDir()
	record(t, dir, history.Options{BatchRows: 4}, randomEvents(rand.New(rand.NewPCG(7, 7)), 8))
	path := filepath.Join(dir, history.EventsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range whole {
		changed := bytes.Clone(whole)
		changed[at] ^= []byte{0x01, 0x80, 0xFF}[at%3]
		put(t, path, changed)
		readAnything(t, dir)
		if cut, err := history.RecoverUnsynced(dir); err == nil && cut > 0 {
			readAnything(t, dir)
		}
	}
}

// readAnything uses every number of a history as a judge would.
func readAnything(t *testing.T, dir string) {
	t.Helper()
	r, err := history.Open(dir)
	if err != nil {
		return
	}
	defer r.Close()
	tables := r.Tables()
	for b, err := r.Next(); err == nil; b, err = r.Next() {
		for e := range history.Events(b) {
			if e.Node != history.None {
				_ = tables.Nodes[e.Node]
			}
			if e.Process != history.None {
				_ = tables.Processes[e.Process]
			}
			if e.Stream != history.None {
				_ = tables.Streams[e.Stream]
			}
			if e.Call < history.None || e.Call >= e.Index {
				t.Fatalf("event %d returns from %d", e.Index, e.Call)
			}
		}
	}
}

// TestRecover is the one case that waits for the disk.
func TestRecover(t *testing.T) {
	dir := t.TempDir()
	want := randomEvents(rand.New(rand.NewPCG(7, 7)), 10)
	record(t, dir, history.Options{BatchRows: 5}, want)
	path := filepath.Join(dir, history.EventsFile)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-9); err != nil { // the end and a byte of the last batch
		t.Fatal(err)
	}
	if cut, err := history.Recover(dir); cut == 0 || err != nil {
		t.Fatalf("cut %d, %v", cut, err)
	}
	got, ended := readAll(t, dir)
	if diff := cmp.Diff(want[:5], got); diff != "" || ended {
		t.Errorf("ended %t, events (-recorded +read):\n%s", ended, diff)
	}
}
