package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A tableRow is one line of tables.jsonl. Exactly one of Node, Process, Stream
// and Workload is set, to the row's number.
type tableRow struct {
	Node     *int            `json:"node,omitempty"`
	Process  *int            `json:"process,omitempty"`
	Stream   *int            `json:"stream,omitempty"`
	Workload *int            `json:"workload,omitempty"`
	Row      json.RawMessage `json:"row"`
}

// A tableFile is tables.jsonl while it is written. A row is written when it is
// added, so it is in the file before any event can name it.
type tableFile struct {
	nodes, processes, streams, workloads atomic.Int32 // rows, for check

	mu     sync.Mutex
	disk   disk
	size   int64 // of whole lines
	tables Tables
	err    error // sticky
}

func (f *tableFile) addNode(n Node) (int, error) {
	return add(f, &f.tables.Nodes, &f.nodes, n, func(i *int) tableRow { return tableRow{Node: i} })
}

func (f *tableFile) addProcess(p Process) (int, error) {
	return add(f, &f.tables.Processes, &f.processes, p, func(i *int) tableRow { return tableRow{Process: i} })
}

func (f *tableFile) addStream(s Stream) (int, error) {
	return add(f, &f.tables.Streams, &f.streams, s, func(i *int) tableRow { return tableRow{Stream: i} })
}

func (f *tableFile) addWorkload(w Workload) (int, error) {
	return add(f, &f.tables.Workloads, &f.workloads, w, func(i *int) tableRow { return tableRow{Workload: i} })
}

// add writes a row of a table, then counts it. It returns its number, None where it
// could not be written.
func add[T any](f *tableFile, rows *[]T, count *atomic.Int32, row T, numbered func(*int) tableRow) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := len(*rows)
	if err := f.write(numbered(&i), row); err != nil {
		return None, err
	}
	*rows = append(*rows, row)
	count.Add(1)
	return i, nil
}

func (f *tableFile) write(row tableRow, v any) error {
	if f.err != nil {
		return f.err
	}
	var err error
	if row.Row, err = json.Marshal(v); err != nil {
		return f.fail(err)
	}
	line, err := json.Marshal(row)
	if err != nil {
		return f.fail(err)
	}
	line = append(line, '\n')
	if _, err := f.disk.Write(line); err != nil {
		return f.fail(errors.Join(err, f.disk.Truncate(f.size)))
	}
	f.size += int64(len(line))
	return nil
}

func (f *tableFile) fail(err error) error {
	f.err = fmt.Errorf("write %s: %w; the run cannot count, free the disk and run again", TablesFile, err)
	return f.err
}

// check replaces numbers that name nothing by None, and says which they were.
func (f *tableFile) check(e *Event) error {
	var wrong string
	if n := f.nodes.Load(); e.Node < None || int32(e.Node) >= n {
		wrong, e.Node = fmt.Sprintf("node %d of %d", e.Node, n), None
	}
	if n := f.processes.Load(); e.Process < None || e.Process >= n {
		wrong, e.Process = fmt.Sprintf("process %d of %d", e.Process, n), None
	}
	if n := f.streams.Load(); e.Stream < None || e.Stream >= n {
		wrong, e.Stream = fmt.Sprintf("stream %d of %d", e.Stream, n), None
	}
	if e.Call < None || e.Call >= e.Index {
		wrong, e.Call = fmt.Sprintf("call %d of %d", e.Call, e.Index), None
	}
	if wrong == "" {
		return nil
	}
	return fmt.Errorf("record event %d, %s: there is no %s; record what it names first, or use history.None", e.Index, e.Kind, wrong)
}

func (f *tableFile) copy() Tables {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Tables{
		Nodes:     slices.Clone(f.tables.Nodes),
		Processes: slices.Clone(f.tables.Processes),
		Streams:   slices.Clone(f.tables.Streams),
		Workloads: slices.Clone(f.tables.Workloads),
	}
}

func (f *tableFile) sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	if err := f.disk.Sync(); err != nil {
		return f.fail(err)
	}
	return nil
}

func (f *tableFile) close() error {
	return errors.Join(f.sync(), f.disk.Close())
}

// parseTables reads the whole lines of tables.jsonl and returns how many bytes they
// are. A line that is not the row due in its place is an error.
func parseTables(data []byte) (*Tables, int64, error) {
	var t Tables
	var size int64
	for n := 1; ; n++ {
		line, _, whole := bytes.Cut(data[size:], []byte{'\n'})
		if !whole {
			return &t, size, nil
		}
		if err := t.parse(line); err != nil {
			return nil, 0, fmt.Errorf("line %d: %w", n, err)
		}
		size += int64(len(line)) + 1
	}
}

func (t *Tables) parse(line []byte) error {
	var row tableRow
	if err := json.Unmarshal(line, &row); err != nil {
		return err
	}
	switch {
	case row.Node != nil:
		return addRow(&t.Nodes, *row.Node, row.Row)
	case row.Process != nil:
		return addRow(&t.Processes, *row.Process, row.Row)
	case row.Stream != nil:
		return addRow(&t.Streams, *row.Stream, row.Row)
	case row.Workload != nil:
		return addRow(&t.Workloads, *row.Workload, row.Row)
	}
	return errors.New("neither a node nor a process nor a stream nor a workload")
}

func addRow[T any](rows *[]T, number int, data []byte) error {
	if number != len(*rows) {
		return fmt.Errorf("row %d where row %d is due", number, len(*rows))
	}
	var row T
	if err := json.Unmarshal(plain.JSON(data), &row); err != nil {
		return err
	}
	*rows = append(*rows, row)
	return nil
}
