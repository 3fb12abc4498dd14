package history

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// A Reader goes through a history once, batch by batch. It is not safe for
// concurrent use.
type Reader struct {
	path     string
	file     *os.File
	messages *messages
	stream   *ipc.Reader // nil where not even the schema is whole
	tables   *Tables
	torn     bool // the last line of the tables is not whole
	batch    Batch
	revision int   // of the file
	next     int64 // Index of the next event
	err      error // io.EOF or the error that Next returned
}

// Open opens the history in dir, which may be still in writing: what is whole
// when it is opened will be read.
func Open(dir string) (*Reader, error) {
	tables, torn, err := ReadTables(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, EventsFile)
	file, err := stored.Open(path)
	if err != nil {
		return nil, missing(err)
	}
	r := &Reader{path: path, file: file, tables: tables, torn: torn}
	if err := r.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), file.Close())
	}
	return r, nil
}

// ReadTables reads dir/tables.jsonl, and says whether its last line is torn.
func ReadTables(dir string) (t *Tables, torn bool, err error) {
	path := filepath.Join(dir, TablesFile)
	data, err := stored.ReadFile(path, stored.MostJSON)
	if err != nil {
		return nil, false, missing(err)
	}
	t, size, err := parseTables(data)
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w; the file is not as rmq-mcp wrote it, rmq-mcp verify says what changed", path, err)
	}
	return t, size < int64(len(data)), nil
}

func missing(err error) error {
	return fmt.Errorf("read a history: %w; name the evidence directory of a run, rmq-mcp list runs shows them", err)
}

// start reads the schema.
func (r *Reader) start() error {
	info, err := r.file.Stat()
	if err != nil {
		return err
	}
	r.messages = &messages{file: r.file, size: info.Size()}
	switch _, err := r.messages.Message(); {
	case r.messages.end == errCut:
		r.err = io.EOF // a crash before the first flush
		return nil
	case err != nil:
		return fmt.Errorf("it is not a history of rmq-mcp: %w; name the evidence directory of a run", err)
	}
	if r.revision, err = revisionOf(r.messages.meta); err != nil {
		return err
	}
	r.messages.back = true
	r.stream, err = ipc.NewReaderFromMessageReader(r.messages)
	return err
}

// Tables are the names of the events' numbers. They are complete from the
// start, and not to be changed.
func (r *Reader) Tables() *Tables { return r.tables }

// Next returns the next batch, which has at least one event and is valid until the next
// call, or io.EOF after the last whole one. Every other error means that the file is
// not as it was recorded.
func (r *Reader) Next() (*Batch, error) {
	for r.err == nil {
		var rec arrow.RecordBatch
		if rec, r.err = r.stream.Read(); r.err != nil {
			break
		}
		if rec.NumRows() == 0 {
			continue
		}
		if r.err = r.fill(rec); r.err == nil {
			r.next += int64(r.batch.N)
			return &r.batch, nil
		}
	}
	if r.err != io.EOF {
		return nil, fmt.Errorf("read %s from event %d on: %w; rmq-mcp verify says whether it was changed", r.path, r.next, r.err)
	}
	return nil, io.EOF
}

// Ended reports, once Next returned io.EOF, whether the history was ended in order: the
// marker is there and nothing was cut. Only then can a missing row mean that something
// did not happen. A recovered history never is.
func (r *Reader) Ended() bool {
	return r.err == io.EOF && r.messages.end == io.EOF && !r.torn
}

// Close closes the file. Batches are invalid afterwards.
func (r *Reader) Close() error {
	if r.stream != nil {
		r.stream.Release()
		r.stream = nil
	}
	if r.err == nil {
		r.err = os.ErrClosed
	}
	return r.file.Close()
}

// fill points the batch into the record, and checks that its numbers name
// something: everything after the reader relies on it.
func (r *Reader) fill(rec arrow.RecordBatch) (err error) {
	// Arrow panics where a column is shorter than it says.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	b := &r.batch
	b.N = int(rec.NumRows())
	for i, column := range rec.Columns() {
		if column.Len() != b.N {
			return fmt.Errorf("column %s has %d rows of %d", rec.ColumnName(i), column.Len(), b.N)
		}
	}
	for i, at := 0, 0; i < len(columns); i++ {
		if c := columns[i]; c.since > r.revision {
			c.lack(b)
		} else {
			if err := c.read(b, rec.Column(at)); err != nil {
				return err
			}
			at++
		}
	}
	for i := range sized(&b.Index, b.N) {
		b.Index[i] = r.next + int64(i)
	}
	return r.check()
}

// setText makes Text read from column, whose strings last as long as the batch
// while those of Text last.
func (b *Batch) setText(column *array.String) error {
	ends := column.ValueOffsets()
	if ends[0] < 0 || !slices.IsSorted(ends) {
		return errors.New("a text ends before it begins")
	}
	var known map[string]string // most are one of a few names of packets
	b.Text = func(i int) string {
		if ends[i] == ends[i+1] {
			return ""
		}
		raw := column.Value(i)
		if len(raw) > knownText {
			return strings.Clone(plain.Text(raw))
		}
		text, is := known[raw]
		if !is {
			if known == nil {
				known = map[string]string{}
			}
			raw = strings.Clone(raw)
			text = plain.Text(raw)
			known[raw] = text
		}
		return text
	}
	return nil
}

// knownText is how many bytes a text may have that is read once in a batch.
const knownText = 16

// check says which number of the batch names nothing.
func (r *Reader) check() error {
	b := &r.batch
	switch {
	case !within(b.Node, len(r.tables.Nodes)):
		return r.unknown("node", len(r.tables.Nodes))
	case !within(b.Process, len(r.tables.Processes)):
		return r.unknown("process", len(r.tables.Processes))
	case !within(b.Stream, len(r.tables.Streams)):
		return r.unknown("stream", len(r.tables.Streams))
	}
	for i, call := range b.Call {
		if call < None || call >= b.Index[i] {
			return fmt.Errorf("event %d returns from event %d", b.Index[i], call)
		}
	}
	return nil
}

func (r *Reader) unknown(what string, rows int) error {
	return fmt.Errorf("an event names a %s that %s does not have (%d rows)", what, TablesFile, rows)
}

// within reports whether all numbers are None or that of a row.
func within[T int16 | int32](numbers []T, rows int) bool {
	lo, hi := T(0), T(None)
	for _, n := range numbers {
		lo, hi = min(lo, n), max(hi, n)
	}
	return lo >= None && int(hi) < rows
}
