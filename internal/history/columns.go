package history

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// columns are the rows of one record batch while it fills up, in the file's
// types.
type columns struct {
	n       int
	time    []int64
	call    []int32
	process []int32
	conn    []int32
	kind    []Kind
	edge    []Edge
	via     []Source
	outcome []Outcome
	reason  []uint8
	qos     []uint8
	flags   []Flags
	node    []int16
	stream  []int32
	seq     []int64
	id      []int64
	value   []float64
	textEnd []int32 // of row i at i+1; 0 at 0
	text    []byte
}

func newColumns(rows int) *columns {
	return &columns{
		time:    make([]int64, rows),
		call:    make([]int32, rows),
		process: make([]int32, rows),
		conn:    make([]int32, rows),
		kind:    make([]Kind, rows),
		edge:    make([]Edge, rows),
		via:     make([]Source, rows),
		outcome: make([]Outcome, rows),
		reason:  make([]uint8, rows),
		qos:     make([]uint8, rows),
		flags:   make([]Flags, rows),
		node:    make([]int16, rows),
		stream:  make([]int32, rows),
		seq:     make([]int64, rows),
		id:      make([]int64, rows),
		value:   make([]float64, rows),
		textEnd: make([]int32, rows+1),
	}
}

func (c *columns) full() bool { return c.n == len(c.time) }

func (c *columns) reset() { c.n, c.text = 0, c.text[:0] }

func (c *columns) add(e *Event) {
	i := c.n
	c.time[i] = int64(e.Time)
	c.call[i] = int32(e.Call)
	c.process[i] = e.Process
	c.conn[i] = e.Conn
	c.kind[i] = e.Kind
	c.edge[i] = e.Edge
	c.via[i] = e.Via
	c.outcome[i] = e.Outcome
	c.reason[i] = e.Reason
	c.qos[i] = e.QoS
	c.flags[i] = e.Flags
	c.node[i] = e.Node
	c.stream[i] = e.Stream
	c.seq[i] = e.Seq
	c.id[i] = e.ID
	c.value[i] = e.Value
	c.text = append(c.text, e.Text...)
	c.textEnd[i+1] = int32(len(c.text))
	c.n++
}

// record is the rows as Arrow sees them, in the same memory: it is valid until
// the columns change.
func (c *columns) record(schema *arrow.Schema) arrow.RecordBatch {
	data := [columnCount][]byte{
		colTime:    bytesOf(c.time[:c.n]),
		colCall:    bytesOf(c.call[:c.n]),
		colProcess: bytesOf(c.process[:c.n]),
		colConn:    bytesOf(c.conn[:c.n]),
		colKind:    bytesOf(c.kind[:c.n]),
		colEdge:    bytesOf(c.edge[:c.n]),
		colVia:     bytesOf(c.via[:c.n]),
		colOutcome: bytesOf(c.outcome[:c.n]),
		colReason:  c.reason[:c.n],
		colQoS:     c.qos[:c.n],
		colFlags:   bytesOf(c.flags[:c.n]),
		colNode:    bytesOf(c.node[:c.n]),
		colStream:  bytesOf(c.stream[:c.n]),
		colSeq:     bytesOf(c.seq[:c.n]),
		colID:      bytesOf(c.id[:c.n]),
		colValue:   bytesOf(c.value[:c.n]),
		colText:    bytesOf(c.textEnd[:c.n+1]),
	}
	arrays := make([]arrow.Array, columnCount)
	for i, bytes := range data {
		buffers := []*memory.Buffer{nil, memory.NewBufferBytes(bytes)}
		if i == colText {
			buffers = append(buffers, memory.NewBufferBytes(c.text))
		}
		arrays[i] = array.MakeFromData(array.NewData(schema.Field(i).Type, c.n, buffers, nil, 0, 0))
	}
	return array.NewRecordBatch(schema, arrays, int64(c.n))
}
