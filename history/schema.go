package history

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// revision is the one of history.arrow that this version writes. It reads all up
// to it: columns and names are added, never taken away or moved.
const revision = 3

// formatKey is the schema's metadata by which a file of ours is known.
const formatKey = "rmq-mcp.history"

// numberOf returns the value of that metadata in a file of a revision. The first three
// revisions have the same.
func numberOf(revision int) string {
	if revision <= 3 {
		return "1"
	}
	return strconv.Itoa(revision)
}

// schemaOf is the schema of history.arrow in a revision.
func schemaOf(revision int) *arrow.Schema {
	var fields []arrow.Field
	for _, c := range columns {
		if c.since > revision {
			continue
		}
		f := arrow.Field{Name: c.name, Type: c.typ}
		if c.names != nil {
			f.Metadata = arrow.NewMetadata([]string{"names"}, []string{known(c.names, revision)})
		}
		fields = append(fields, f)
	}
	meta := arrow.NewMetadata([]string{formatKey}, []string{numberOf(revision)})
	return arrow.NewSchema(fields, &meta)
}

// record is a batch as Arrow sees it, in the same memory: it is valid until the
// batch changes.
func (b *Batch) record(schema *arrow.Schema) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(columns))
	for i, c := range columns {
		buffers := []*memory.Buffer{nil} // there are no nulls
		for _, bytes := range c.buffers(b) {
			buffers = append(buffers, memory.NewBufferBytes(bytes))
		}
		arrays[i] = array.MakeFromData(array.NewData(c.typ, b.N, buffers, nil, 0, 0))
	}
	return array.NewRecordBatch(schema, arrays, int64(b.N))
}

// schemaMessage is the metadata of the message that begins every history.
func schemaMessage(revision int) ([]byte, error) {
	payload := ipc.GetSchemaPayload(schemaOf(revision), memory.DefaultAllocator)
	defer payload.Release()
	var message bytes.Buffer
	if _, err := payload.WritePayload(&message); err != nil {
		return nil, err
	}
	return message.Bytes()[prefixSize:], nil
}

// revisionOf returns the revision of the metadata in a file's first message. It
// compares bytes: reading a changed or foreign schema would trust its lengths.
func revisionOf(got []byte) (int, error) {
	for r := revision; r > 0; r-- {
		if want, err := schemaMessage(r); err != nil || bytes.Equal(got, want) {
			return r, err
		}
	}
	if !bytes.Contains(got, []byte(formatKey)) {
		return 0, errors.New("it is an Arrow stream but not a history of rmq-mcp; name the evidence directory of a run")
	}
	return 0, fmt.Errorf("its columns are of no revision up to %d, the newest that this version reads; use the version of rmq-mcp named in run.json beside it, or a later one, or run rmq-mcp verify", revision)
}
