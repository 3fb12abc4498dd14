package history_test

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

// FuzzReader checks that a reader of any bytes comes to an end, and returns an error or
// events that name rows of the tables.
func FuzzReader(f *testing.F) {
	for seed := range uint64(3) {
		dir := f.TempDir()
		w, err := history.Create(dir, history.Options{BatchRows: 5})
		if err != nil {
			f.Fatal(err)
		}
		fillTables(w)
		for _, e := range randomEvents(rand.New(rand.NewPCG(seed, 3)), 12) {
			w.Record(e)
		}
		if err := w.Close(); err != nil {
			f.Fatal(err)
		}
		events, err := os.ReadFile(filepath.Join(dir, history.EventsFile))
		if err != nil {
			f.Fatal(err)
		}
		tables, err := os.ReadFile(filepath.Join(dir, history.TablesFile))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(events, tables)
		f.Add(events[:len(events)/2], tables[:len(tables)-3])
	}
	f.Fuzz(func(t *testing.T, events, tables []byte) {
		dir := t.TempDir()
		for name, content := range map[string][]byte{history.EventsFile: events, history.TablesFile: tables} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := history.Open(dir)
		if err != nil {
			return
		}
		defer r.Close()
		for n := 0; ; {
			b, err := r.Next()
			if err != nil {
				if err == io.EOF && n > len(events) {
					t.Fatalf("%d events in %d bytes", n, len(events))
				}
				return
			}
			for e := range history.Events(b) {
				if int(e.Node) >= len(r.Tables().Nodes) || int(e.Process) >= len(r.Tables().Processes) || int(e.Stream) >= len(r.Tables().Streams) {
					t.Fatalf("an event names what is not there: %+v", e)
				}
				n++
			}
		}
	})
}
