package history

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Options of a [Recorder]. The zero value works.
type Options struct {
	BatchRows  int           // rows of a record batch; 0: 4096
	FlushEvery time.Duration // longest a row waits for others while the disk keeps up; 0: 100 ms

	// OnEvent, if not nil, is called with every event in order of recording.
	// The recorder is locked meanwhile: it must be quick, and must not call
	// the recorder.
	OnEvent func(Event)
}

// queueBatches is how far the disk may fall behind before Record waits for
// it: about 30 MB with batches of 4096 rows.
const queueBatches = 64

// A Recorder appends events to a history on disk. Its methods may be called
// concurrently. A recorded event is in the file after FlushEvery, if the disk keeps up, or
// at the next Sync or Close, and survives a crash of this process from then on.
//
// After the first failed write nothing more is written: Err and Failed say so, and the
// experiment must be ended.
type Recorder struct {
	tables *tableFile
	events *eventFile
	opts   Options
	timer  *time.Timer // flushes a batch that does not fill up

	mu     sync.Mutex
	next   int64 // Index of the next event
	open   []Event
	closed bool

	queue  chan task
	free   chan []Event
	done   chan struct{} // the writer has ended
	failed chan struct{}

	errOnce sync.Once
	err     error // valid once failed is closed
}

// A task of the writer: a batch to append, or a Sync or Close to answer.
type task struct {
	batch  []Event
	synced chan<- struct{}
}

// Create starts the history of a run: it makes dir/history.arrow and
// dir/tables.jsonl, which must not exist yet.
func Create(dir string, opts Options) (*Recorder, error) {
	tables, err := createFile(dir, TablesFile)
	if err != nil {
		return nil, err
	}
	events, err := createFile(dir, EventsFile)
	if err != nil {
		return nil, errors.Join(err, tables.Close())
	}
	return newRecorder(tables, events, opts), nil
}

func createFile(dir, name string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("record: %w; a history is written once, use a new run directory", err)
	}
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return file, nil
}

func newRecorder(tables, events disk, opts Options) *Recorder {
	if opts.BatchRows <= 0 {
		opts.BatchRows = 4096
	}
	if opts.FlushEvery <= 0 {
		opts.FlushEvery = 100 * time.Millisecond
	}
	r := &Recorder{
		tables: &tableFile{disk: tables},
		events: newEventFile(events),
		opts:   opts,
		open:   make([]Event, 0, opts.BatchRows),
		queue:  make(chan task, queueBatches),
		free:   make(chan []Event, queueBatches),
		done:   make(chan struct{}),
		failed: make(chan struct{}),
	}
	r.timer = time.AfterFunc(math.MaxInt64, r.flush)
	go r.write()
	return r
}

// Record appends an event and returns its Index; e.Index is ignored. The event is in
// memory when it returns. Record waits only while the disk is far behind.
//
// An event must name rows of the tables, and a call recorded before. Otherwise the
// wrong number is recorded as None and Err says so. After Close nothing is recorded,
// and Record returns None.
func (r *Recorder) Record(e Event) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		r.fail(fmt.Errorf("record %s: the history was closed before", e.Kind))
		return None
	}
	e.Index = r.next
	if err := r.tables.check(&e); err != nil {
		r.fail(err)
	}
	r.next++
	if len(r.open) == 0 {
		r.timer.Reset(r.opts.FlushEvery)
	}
	r.open = append(r.open, e)
	if len(r.open) == r.opts.BatchRows {
		r.handOver()
	}
	if r.opts.OnEvent != nil {
		r.opts.OnEvent(e)
	}
	return e.Index
}

// Await returns when Record does not wait for the disk.
func (r *Recorder) Await() {
	r.mu.Lock()
	defer r.mu.Unlock()
}

// flush hands over a batch whose time has come. While the disk is behind it waits for more
// rows: a queue of small batches would soon be full.
func (r *Recorder) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
	case len(r.queue) > 0:
		r.timer.Reset(r.opts.FlushEvery)
	default:
		r.handOver()
	}
}

// handOver gives the open batch to the writer. The lock is held, so that
// batches are queued in order.
func (r *Recorder) handOver() {
	if len(r.open) == 0 {
		return
	}
	r.queue <- task{batch: r.open}
	select {
	case r.open = <-r.free:
	default:
		r.open = make([]Event, 0, r.opts.BatchRows)
	}
}

// Sync returns when all that was recorded before is on disk, or with the
// first error of writing.
func (r *Recorder) Sync() error {
	synced := make(chan struct{})
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return r.Err()
	}
	r.handOver()
	r.queue <- task{synced: synced}
	r.mu.Unlock()
	<-synced
	return r.Err()
}

// Close writes what is left and ends the history in order. It returns the first error
// there was; the history then has no end marker. A second Close does nothing.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		<-r.done
		return r.Err()
	}
	r.handOver()
	r.closed = true
	r.timer.Stop()
	close(r.queue)
	r.mu.Unlock()
	<-r.done
	return r.Err()
}

// Err returns the first error, of writing or of a caller, or nil.
func (r *Recorder) Err() error {
	select {
	case <-r.failed:
		return r.err
	default:
		return nil
	}
}

// Failed is closed at the first error.
func (r *Recorder) Failed() <-chan struct{} { return r.failed }

func (r *Recorder) fail(err error) {
	if err == nil {
		return
	}
	r.errOnce.Do(func() {
		r.err = err
		close(r.failed)
	})
}

// Node adds a node to the tables and returns its number, None where it could not be
// written.
func (r *Recorder) Node(n Node) int16 {
	i, err := r.tables.addNode(n)
	r.fail(err)
	return int16(i)
}

// Process adds a process to the tables and returns its number, None where it could not
// be written.
func (r *Recorder) Process(p Process) int32 {
	i, err := r.tables.addProcess(p)
	r.fail(err)
	return int32(i)
}

// Stream adds a stream to the tables and returns its number, None where it could not be
// written.
func (r *Recorder) Stream(s Stream) int32 {
	i, err := r.tables.addStream(s)
	r.fail(err)
	return int32(i)
}

// Workload adds a workload to the tables and returns its number, None where it could
// not be written.
func (r *Recorder) Workload(w Workload) int {
	i, err := r.tables.addWorkload(w)
	r.fail(err)
	return i
}

// Tables is a copy of the tables as they are now.
func (r *Recorder) Tables() Tables { return r.tables.copy() }

// write is the goroutine that writes to disk.
func (r *Recorder) write() {
	defer close(r.done)
	for t := range r.queue {
		if t.batch != nil {
			if r.events.err == nil {
				r.fail(r.events.append(t.batch))
			}
			r.recycle(t.batch)
		}
		if t.synced != nil {
			r.fail(errors.Join(r.tables.sync(), r.events.sync()))
			close(t.synced)
		}
	}
	r.fail(r.tables.close())
	if r.Err() == nil { // else it must not look complete
		r.fail(r.events.end())
	}
	r.fail(r.events.close())
}

func (r *Recorder) recycle(rows []Event) {
	select {
	case r.free <- rows[:0]:
	default:
	}
}
