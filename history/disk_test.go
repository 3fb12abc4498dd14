package history

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var errFull = errors.New("no space left on device")

// A fullDisk takes left bytes more, then writes short and fails, as a full
// disk does.
type fullDisk struct {
	*os.File
	left int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	if len(p) <= d.left {
		d.left -= len(p)
		return d.File.Write(p)
	}
	n, err := d.File.Write(p[:d.left])
	d.left = 0
	return n, errors.Join(err, errFull)
}

// open makes the two files of a history with so much room.
func open(t *testing.T, dir string, tables, events int) (*fullDisk, *fullDisk) {
	t.Helper()
	var disks [2]*fullDisk
	for i, name := range []string{TablesFile, EventsFile} {
		file, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		disks[i] = &fullDisk{file, []int{tables, events}[i]}
	}
	return disks[0], disks[1]
}

// A slowDisk writes while its gate is open.
type slowDisk struct {
	*os.File
	gate sync.RWMutex
}

func (d *slowDisk) Write(p []byte) (int, error) {
	d.gate.RLock()
	defer d.gate.RUnlock()
	return d.File.Write(p)
}

// A disk that stands still stops nobody who records some dozen rows a second: the rows
// wait in few batches.
func TestStandingDisk(t *testing.T) {
	dir := t.TempDir()
	tables, file := open(t, dir, 1<<20, 0)
	events := &slowDisk{File: file.File}
	r := newRecorder(tables, events, Options{BatchRows: 10, FlushEvery: time.Millisecond})
	events.gate.Lock()
	recorded := make(chan struct{})
	go func() {
		defer close(recorded)
		for range 3 * queueBatches {
			r.Record(Event{Call: None, Process: None, Node: None, Stream: None})
			time.Sleep(2 * time.Millisecond)
		}
		r.Await()
	}()
	select {
	case <-recorded:
	case <-time.After(30 * time.Second):
		t.Error("recording waits for the disk")
	}
	events.gate.Unlock()
	<-recorded
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestFullDisk(t *testing.T) {
	const plenty = 1 << 30
	tests := []struct {
		name           string
		tables, events int
		want           string
	}{
		{"no event fits", plenty, 0, EventsFile},
		{"some events fit", plenty, 9000, EventsFile},
		{"some tables fit", 70, plenty, TablesFile},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			tables, events := open(t, dir, test.tables, test.events)
			r := newRecorder(tables, events, Options{BatchRows: 10})
			r.Node(Node{Name: "node-1"})
			node := r.Node(Node{Name: "node-2"})
			for range 1000 {
				r.Record(Event{Call: None, Process: None, Node: node, Stream: None})
			}
			<-r.Failed()
			for what, err := range map[string]error{"Err": r.Err(), "Sync": r.Sync(), "Close": r.Close()} {
				if !errors.Is(err, errFull) || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: %v; want that %s is full", what, err, test.want)
				}
			}
			checkWhole(t, dir)
		})
	}
}

// checkWhole reads a history whose disk was full: what is there is whole, and
// it does not look complete.
func checkWhole(t *testing.T, dir string) {
	t.Helper()
	if cut, err := Recover(dir); cut != 0 || err != nil {
		t.Errorf("Recover: cut %d, %v; want nothing to cut", cut, err)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for err == nil {
		_, err = r.Next()
	}
	if err != io.EOF {
		t.Errorf("Next: %v", err)
	}
	if r.Ended() {
		t.Error("it looks complete")
	}
}
