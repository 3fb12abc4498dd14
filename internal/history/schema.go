package history

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// formatKey is the schema's metadata by which a file of ours is known.
const formatKey = "rmq-mcp.history"

// The columns of history.arrow, in order. FORMAT.md explains them. There is
// none for Event.Index: it is the number of the row.
const (
	colTime = iota
	colCall
	colProcess
	colConn
	colKind
	colEdge
	colVia
	colOutcome
	colReason
	colQoS
	colFlags
	colNode
	colStream
	colSeq
	colID
	colValue
	colText
	columnCount
)

// A vocabulary is the names of the enums that have grown since the format's
// first file. They only grow at their end, so that old files read as they are.
type vocabulary struct{ kinds, flags string }

func vocabularies() []vocabulary {
	return []vocabulary{
		{kindNames, flagNames},
		{kindNames, strings.TrimSuffix(flagNames, " renamed")},
		{strings.TrimSuffix(kindNames, " packet told"), strings.TrimSuffix(flagNames, " to_client renamed")},
	}
}

// newSchema is the schema of history.arrow.
func newSchema(names vocabulary) *arrow.Schema {
	fields := []arrow.Field{
		colTime:    {Name: "t_ns", Type: arrow.PrimitiveTypes.Int64},
		colCall:    {Name: "call", Type: arrow.PrimitiveTypes.Int32},
		colProcess: {Name: "process", Type: arrow.PrimitiveTypes.Int32},
		colConn:    {Name: "conn", Type: arrow.PrimitiveTypes.Int32},
		colKind:    named("kind", names.kinds),
		colEdge:    named("edge", edgeNames),
		colVia:     named("via", sourceNames),
		colOutcome: named("outcome", outcomeNames),
		colReason:  {Name: "reason", Type: arrow.PrimitiveTypes.Uint8},
		colQoS:     {Name: "qos", Type: arrow.PrimitiveTypes.Uint8},
		colFlags:   named("flags", names.flags),
		colNode:    {Name: "node", Type: arrow.PrimitiveTypes.Int16},
		colStream:  {Name: "stream", Type: arrow.PrimitiveTypes.Int32},
		colSeq:     {Name: "seq", Type: arrow.PrimitiveTypes.Int64},
		colID:      {Name: "id", Type: arrow.PrimitiveTypes.Int64},
		colValue:   {Name: "value", Type: arrow.PrimitiveTypes.Float64},
		colText:    {Name: "text", Type: arrow.BinaryTypes.String},
	}
	meta := arrow.NewMetadata([]string{formatKey}, []string{strconv.Itoa(Format)})
	return arrow.NewSchema(fields, &meta)
}

// named is a column of an enum, or of flags, with its names in the metadata.
func named(column, names string) arrow.Field {
	return arrow.Field{
		Name:     column,
		Type:     arrow.PrimitiveTypes.Uint8,
		Metadata: arrow.NewMetadata([]string{"names"}, []string{names}),
	}
}

// schemaMessage is the metadata of the message that begins every history.
func schemaMessage(names vocabulary) ([]byte, error) {
	payload := ipc.GetSchemaPayload(newSchema(names), memory.DefaultAllocator)
	defer payload.Release()
	var message bytes.Buffer
	if _, err := payload.WritePayload(&message); err != nil {
		return nil, err
	}
	return message.Bytes()[prefixSize:], nil
}

// checkSchema says what is wrong with the metadata of a file's first message.
// It compares bytes: reading a schema that somebody else wrote, or that was
// changed, would trust its lengths.
func checkSchema(got []byte) error {
	for _, names := range vocabularies() {
		if want, err := schemaMessage(names); err != nil || bytes.Equal(got, want) {
			return err
		}
	}
	switch {
	case !bytes.Contains(got, []byte(formatKey)):
		return errors.New("it is an Arrow stream but not a history of rmq-mcp; name the evidence directory of a run")
	default:
		return fmt.Errorf("its columns are not those of format %d; use the version of rmq-mcp that run.json beside it names, or see what rmq-mcp verify says", Format)
	}
}

// bytesOf is the memory of a column, for Arrow.
func bytesOf[T any](column []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(column))), len(column)*int(unsafe.Sizeof(zero)))
}

// columnOf is a column of Arrow's, as a type of ours with the same memory.
func columnOf[T, A any](column []A) []T {
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(column))), len(column))
}
