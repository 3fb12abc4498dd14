package history

import (
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// columns lists the columns of history.arrow, in its order. The recorder and the reader
// know an event's fields from this table alone. A new field is a line here, with its
// first revision, beside the field in [Event] and in [Batch]. FORMAT.md explains them.
// There is none for Event.Index: it is the number of the row.
var columns = []column{
	field("t_ns", 1, int64s, func(b *Batch) *[]int64 { return &b.Time }, func(e *Event) *nanoseconds { return (*nanoseconds)(&e.Time) }, 0),
	callColumn(),
	field("process", 1, int32s, func(b *Batch) *[]int32 { return &b.Process }, func(e *Event) *int32 { return &e.Process }, None),
	field("conn", 1, int32s, func(b *Batch) *[]int32 { return &b.Conn }, func(e *Event) *int32 { return &e.Conn }, 0),
	field("kind", 1, uint8s, func(b *Batch) *[]Kind { return &b.Kind }, func(e *Event) *Kind { return &e.Kind }, 0).of(kindNames),
	field("edge", 1, uint8s, func(b *Batch) *[]Edge { return &b.Edge }, func(e *Event) *Edge { return &e.Edge }, 0).of(edgeNames),
	field("via", 1, uint8s, func(b *Batch) *[]Source { return &b.Via }, func(e *Event) *Source { return &e.Via }, 0).of(sourceNames),
	field("outcome", 1, uint8s, func(b *Batch) *[]Outcome { return &b.Outcome }, func(e *Event) *Outcome { return &e.Outcome }, 0).of(outcomeNames),
	field("reason", 1, uint8s, func(b *Batch) *[]uint8 { return &b.Reason }, func(e *Event) *uint8 { return &e.Reason }, 0),
	field("qos", 1, uint8s, func(b *Batch) *[]uint8 { return &b.QoS }, func(e *Event) *uint8 { return &e.QoS }, 0),
	field("flags", 1, uint8s, func(b *Batch) *[]Flags { return &b.Flags }, func(e *Event) *Flags { return &e.Flags }, 0).of(flagNames),
	field("node", 1, int16s, func(b *Batch) *[]int16 { return &b.Node }, func(e *Event) *int16 { return &e.Node }, None),
	field("stream", 1, int32s, func(b *Batch) *[]int32 { return &b.Stream }, func(e *Event) *int32 { return &e.Stream }, None),
	field("seq", 1, int64s, func(b *Batch) *[]int64 { return &b.Seq }, func(e *Event) *int64 { return &e.Seq }, None),
	field("id", 1, int64s, func(b *Batch) *[]int64 { return &b.ID }, func(e *Event) *int64 { return &e.ID }, None),
	field("value", 1, arrow.PrimitiveTypes.Float64, func(b *Batch) *[]float64 { return &b.Value }, func(e *Event) *float64 { return &e.Value }, 0),
	textColumn(),
}

var (
	int64s = arrow.PrimitiveTypes.Int64
	int32s = arrow.PrimitiveTypes.Int32
	int16s = arrow.PrimitiveTypes.Int16
	uint8s = arrow.PrimitiveTypes.Uint8
)

// A column is how a field of events is written and read.
type column struct {
	name  string
	since int // the first revision that has it
	typ   arrow.DataType
	names []words // of an enum or of flags

	fill    func(b *Batch, rows []Event)             // a batch's slice, out of rows
	row     func(b *Batch, i int, e *Event)          // and back
	pick    func(b, from *Batch, rows []int)         // a batch's slice, of some rows of another batch
	set     func(b *Batch, i int, e *Event)          // one row of a batch that was picked
	buffers func(b *Batch) [][]byte                  // the slice as Arrow has it, in the same memory where it is the same
	read    func(b *Batch, column arrow.Array) error // the slice, out of a file
	lack    func(b *Batch)                           // the slice where the file is older than the column
}

type number interface {
	~uint8 | ~int16 | ~int32 | ~int64 | ~float64
}

// nanoseconds are a time in a batch.
type nanoseconds int64

// field is a column whose numbers lie in the file as in a batch. Where a file
// lacks it every event has the number absent.
func field[B, E number](name string, since int, typ arrow.DataType, in func(*Batch) *[]B, of func(*Event) *E, absent B) column {
	var e Event
	offset := uintptr(unsafe.Pointer(of(&e))) - uintptr(unsafe.Pointer(&e))
	return column{
		name: name, since: since, typ: typ,
		fill: func(b *Batch, rows []Event) {
			to := sized(in(b), len(rows))
			for i := range rows { // by the offset, as calling of for each takes twice as long
				to[i] = B(*(*E)(unsafe.Add(unsafe.Pointer(&rows[i]), offset)))
			}
		},
		row: func(b *Batch, i int, e *Event) { *of(e) = E((*in(b))[i]) },
		pick: func(b, from *Batch, rows []int) {
			to, all := sized(in(b), len(rows)), *in(from)
			for i, row := range rows {
				to[i] = all[row]
			}
		},
		set:     func(b *Batch, i int, e *Event) { (*in(b))[i] = B(*of(e)) },
		buffers: func(b *Batch) [][]byte { return [][]byte{bytesOf((*in(b))[:b.N])} },
		read: func(b *Batch, column arrow.Array) error {
			*in(b) = valuesOf[B](column)
			return nil
		},
		lack: func(b *Batch) {
			to := sized(in(b), b.N)
			for i := range to {
				to[i] = absent
			}
		},
	}
}

// of names the numbers of a column.
func (c column) of(names []words) column {
	c.names = names
	return c
}

// callColumn is narrower in the file than in a batch.
func callColumn() column {
	c := field("call", 1, int32s, func(b *Batch) *[]int64 { return &b.Call }, func(e *Event) *int64 { return &e.Call }, None)
	c.buffers = func(b *Batch) [][]byte {
		narrow := make([]int32, b.N)
		for i := range narrow {
			narrow[i] = int32(b.Call[i])
		}
		return [][]byte{bytesOf(narrow)}
	}
	c.read = func(b *Batch, column arrow.Array) error {
		to := sized(&b.Call, b.N)
		for i, call := range valuesOf[int32](column) {
			to[i] = int64(call)
		}
		return nil
	}
	return c
}

// textColumn is the one without a fixed width.
func textColumn() column {
	return column{
		name: "text", since: 1, typ: arrow.BinaryTypes.String,
		fill: func(b *Batch, rows []Event) { b.Text = func(i int) string { return rows[i].Text } },
		row:  func(b *Batch, i int, e *Event) { e.Text = b.Text(i) },
		pick: func(b, from *Batch, rows []int) {
			text := from.Text
			b.Text = func(i int) string { return text(rows[i]) }
		},
		set: func(b *Batch, i int, e *Event) {
			text, own := b.Text, e.Text
			b.Text = func(j int) string {
				if j == i {
					return own
				}
				return text(j)
			}
		},
		buffers: func(b *Batch) [][]byte {
			ends, text := make([]int32, b.N+1), []byte(nil)
			for i := range b.N {
				text = append(text, b.Text(i)...)
				ends[i+1] = int32(len(text))
			}
			return [][]byte{bytesOf(ends), text}
		},
		read: func(b *Batch, column arrow.Array) error { return b.setText(column.(*array.String)) },
		lack: func(b *Batch) { b.Text = func(int) string { return "" } },
	}
}

// sized is a slice of n, in the memory that it had where that is enough.
func sized[T any](s *[]T, n int) []T {
	*s = slices.Grow((*s)[:0], n)[:n]
	return *s
}

// bytesOf is the memory of a column, for Arrow.
func bytesOf[T any](column []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(column))), len(column)*int(unsafe.Sizeof(zero)))
}

// valuesOf is the memory of a column of Arrow's, which panics where that is
// shorter than the column says.
func valuesOf[T any](column arrow.Array) []T {
	var zero T
	data := column.Data()
	if data.Len() == 0 {
		return nil
	}
	bytes := data.Buffers()[1].Bytes()
	all := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(bytes))), len(bytes)/int(unsafe.Sizeof(zero)))
	return all[data.Offset() : data.Offset()+data.Len()]
}
