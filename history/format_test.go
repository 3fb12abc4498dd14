package history_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
)

// TestOldRevisionsStayReadable reads the histories that earlier versions recorded.
// They are not written anew: what a version has once recorded is what it is. A new
// revision gets a directory of its own, recorded by the commit that brings it.
func TestOldRevisionsStayReadable(t *testing.T) {
	want := []history.Event{
		{Index: 0, Call: -1, Process: -1, Kind: history.KindPhase, Node: -1, Stream: -1, Seq: -1, ID: -1, Text: "load"},
		{Index: 1, Call: -1, Time: time.Millisecond, Process: 0, Conn: 1, Kind: history.KindPublish, Edge: history.Call, Via: history.ViaDriver, QoS: 1, Flags: history.FlagDup, Node: 1, Stream: 2, Seq: 1 << 40, ID: 65535},
		{Index: 2, Call: 1, Time: 2 * time.Millisecond, Process: 0, Conn: 1, Kind: history.KindPublish, Edge: history.Return, Via: history.ViaTap, Outcome: history.Info, Reason: 0x87, QoS: 1, Node: 1, Stream: 2, Seq: 1 << 40, ID: 65535, Text: "timed out: 世"},
		{Index: 3, Call: -1, Time: -1, Process: 0, Kind: history.KindObserve, Node: 0, Stream: -1, Seq: -1, ID: -1, Value: -0.5, Text: "cpu"},
	}
	for revision := 1; revision <= history.Revision; revision++ {
		dir := filepath.Join("testdata", fmt.Sprintf("revision%d", revision))
		got, ended := readAll(t, dir)
		if diff := cmp.Diff(want, got); diff != "" || !ended {
			t.Errorf("revision %d: ended %t, events (-recorded +read):\n%s", revision, ended, diff)
		}
	}
	// And this version writes the last of them, byte for byte.
	dir := t.TempDir()
	record(t, dir, history.Options{}, want)
	for _, name := range []string{history.EventsFile, history.TablesFile} {
		wrote, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		stays, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("revision%d", history.Revision), name))
		if err != nil || !bytes.Equal(wrote, stays) {
			t.Errorf("%s is not as it was recorded, %v; what changes it is a new revision", name, err)
		}
	}
}

// TestOpenAnotherStream opens Arrow streams that are not histories of this
// format.
func TestOpenAnotherStream(t *testing.T) {
	tests := []struct {
		name string
		meta map[string]string
		want string
	}{
		{"somebody else's", nil, "not a history of rmq-mcp"},
		{"a later format", map[string]string{"rmq-mcp.history": "2"}, "use the version"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			record(t, dir, history.Options{}, nil)
			file, err := os.Create(filepath.Join(dir, history.EventsFile))
			if err != nil {
				t.Fatal(err)
			}
			meta := arrow.MetadataFrom(test.meta)
			schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int8}}, &meta)
			if err := ipc.NewWriter(file, ipc.WithSchema(schema)).Close(); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
			if r, err := history.Open(dir); err == nil || !strings.Contains(err.Error(), test.want) {
				if r != nil {
					r.Close()
				}
				t.Errorf("Open: %v; want %q", err, test.want)
			}
		})
	}
}
