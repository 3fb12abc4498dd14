package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// A disk is what is needed of a file, so that a test can fill it up.
type disk interface {
	io.WriteCloser
	Sync() error
	Truncate(size int64) error
}

// An eventFile is history.arrow while it is written. Every message goes out in
// one write, the schema together with the first batch, so that a crash leaves
// at most one torn.
type eventFile struct {
	disk    disk
	size    int64 // of whole messages
	schema  *arrow.Schema
	batch   Batch // that is being written
	message bytes.Buffer
	writer  *ipc.Writer // into message
	err     error       // sticky
}

func newEventFile(d disk) *eventFile {
	f := &eventFile{disk: d, schema: schemaOf(revision)}
	f.writer = ipc.NewWriter(&f.message, ipc.WithSchema(f.schema))
	return f
}

// append writes the rows as one record batch.
func (f *eventFile) append(rows []Event) error {
	f.batch.fill(rows)
	if err := f.writer.Write(f.batch.record(f.schema)); err != nil {
		return f.fail(err)
	}
	return f.flush()
}

// flush writes the message out. A part that was written is taken back, so that
// the file ends with a whole message even on a full disk.
func (f *eventFile) flush() error {
	defer f.message.Reset()
	if _, err := f.disk.Write(f.message.Bytes()); err != nil {
		return f.fail(errors.Join(err, f.disk.Truncate(f.size)))
	}
	f.size += int64(f.message.Len())
	return nil
}

func (f *eventFile) fail(err error) error {
	f.err = fmt.Errorf("write %s: %w; the run cannot count, free the disk and run again", EventsFile, err)
	return f.err
}

func (f *eventFile) sync() error {
	if f.err != nil {
		return f.err
	}
	if err := f.disk.Sync(); err != nil {
		return f.fail(err)
	}
	return nil
}

// end ends the stream in order.
func (f *eventFile) end() error {
	if f.err != nil {
		return f.err
	}
	if err := f.writer.Close(); err != nil {
		return f.fail(err)
	}
	return errors.Join(f.flush(), f.sync())
}

func (f *eventFile) close() error { return f.disk.Close() }
