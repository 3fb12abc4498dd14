package history

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// TestEveryFieldHasItsColumn: what of an event is not in the table would be lost.
func TestEveryFieldHasItsColumn(t *testing.T) {
	var e Event
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.CanInt():
			f.SetInt(int64(i + 1))
		case f.CanUint():
			f.SetUint(uint64(i + 1))
		case f.CanFloat():
			f.SetFloat(float64(i + 1))
		default:
			f.SetString("text")
		}
	}
	if got := BatchOf(nil, []Event{e}).Event(0); got != e {
		t.Errorf("%+v became %+v", e, got)
	}
	if fields := v.NumField() - 1; len(columns) != fields { // Index has none
		t.Errorf("%d columns, %d fields", len(columns), fields)
	}
}

// TestAColumnThatOlderFilesLack records with fewer columns, and reads with all.
func TestAColumnThatOlderFilesLack(t *testing.T) {
	all := columns
	defer func() { columns = all }()
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, EventsFile))
	if err != nil {
		t.Fatal(err)
	}
	columns = nil
	for _, c := range all {
		if c.name != "seq" && c.name != "qos" {
			columns = append(columns, c)
		}
	}
	var b Batch
	b.fill([]Event{{Call: None, Process: None, Node: None, Stream: None, ID: 7, Text: "x"}})
	schema := schemaOf(revision)
	w := ipc.NewWriter(file, ipc.WithSchema(schema))
	if err := w.Write(b.record(schema)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, TablesFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	columns = nil
	for _, c := range all { // as if they had come after all that there are
		if c.name == "seq" || c.name == "qos" {
			c.since = revision + 1
		}
		columns = append(columns, c)
	}
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	want := Event{Call: None, Process: None, Node: None, Stream: None, Seq: None, ID: 7, Text: "x"}
	if e := got.Event(0); e != want {
		t.Errorf("%+v, want %+v", e, want)
	}
}
