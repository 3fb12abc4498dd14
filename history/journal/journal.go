// Package journal is the record of requests, plans, actions and answers: one JSON line
// an entry, each chained to the one before by its hash, each on disk before Append
// returns.
//
// A line is
//
//	{"n":0,"t":"…","mono_ns":0,"kind":"call","data":{…},"prev":"…","hash":"…"}
//
// and a newline, with the members in this order and no space between them.
//
//   - n counts from 0.
//   - t is the wall clock, RFC 3339 with nanoseconds, UTC; mono_ns is the
//     machine's monotonic clock, the one that the history's times count on.
//   - hash is the SHA-256, in hex, of the line's bytes without the newline and
//     without the member hash: everything before `,"hash":`, and `}`.
//   - prev is the SHA-256 of the whole line before, newline included, and empty
//     in entry 0. So sha256sum of a line is the prev of the next.
//
// The head of a journal is the SHA-256 of its last line: with the number of
// entries it pins all of them.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Kinds of entries. The list is open: a kind is any word, and what is done to
// faults has words of its own (package faults).
const (
	KindStart     = "start"     // a run begins; Data is who asked for what
	KindCall      = "call"      // a tool call; Data is the caller, the tool and its arguments
	KindAnswer    = "answer"    // the answer to that call
	KindStop      = "stop"      // a run is to end before its time; Data is who asked
	KindEnd       = "end"       // the last of a run; Data has what the harness itself could not do
	KindNote      = "note"      // words
	KindContinues = "continues" // the first of a file that goes on where another one was full; Data is that one's name and head
	KindRecovered = "recovered" // written by Open: the entry before was torn by a crash and is cut off
)

// A Journal appends entries to a file, of which it is the only writer. Its
// methods may be called concurrently.
type Journal struct {
	path string
	lock *flock.Flock

	mu   sync.Mutex
	file *os.File
	size int64 // of whole lines
	n    int
	head string
	err  error // the first that left the file in doubt
}

// Open creates the journal at path, or continues it after verifying it. A last line
// torn by a crash is cut off, and an entry of kind "recovered" says so. It is an error
// if another process is writing the journal, or if an entry was changed.
func Open(path string) (*Journal, error) {
	lock := flock.New(lockPath(path), flock.SetPermissions(0o644))
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("open journal: %w", err)
	case !locked:
		return nil, fmt.Errorf("open journal %s: another process is writing it; end that one, or use another run directory", path)
	}
	j := &Journal{path: path, lock: lock}
	if err := j.resume(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// resume opens the file and goes to the end of its last whole line.
func (j *Journal) resume() (err error) {
	if j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	chain, err := readChain(j.file)
	if err != nil {
		return fmt.Errorf("open journal %s: %w; it stays as it is, use another run directory", j.path, err)
	}
	j.n, j.head, j.size = len(chain.entries), chain.head, chain.size
	if err := j.file.Truncate(j.size); err != nil {
		return fmt.Errorf("cut the torn end of journal: %w", err)
	}
	if _, err := j.file.Seek(j.size, 0); err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	if chain.torn > 0 {
		_, err = j.Append(KindRecovered, map[string]int64{"cut_bytes": chain.torn})
	}
	return err
}

// Append writes one entry and returns its number once it is on disk. data is anything
// that encodes to JSON. After an error of the disk the journal takes no more entries:
// an action that cannot be journaled must not be done.
func (j *Journal) Append(kind string, data any) (n int, err error) {
	encoded, err := json.Marshal(data)
	if err != nil {
		return 0, fmt.Errorf("journal %s: %w", kind, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return 0, j.err
	}
	line, err := encode(Entry{N: j.n, Time: time.Now().UTC(), MonoNS: monotonicNow(), Kind: kind, Data: encoded, Prev: j.head})
	if err != nil {
		return 0, fmt.Errorf("journal %s: %w", kind, err)
	}
	if err := j.write(line); err != nil {
		j.err = fmt.Errorf("journal %s to %s: %w; nothing more is journaled, so nothing more may be done", kind, j.path, err)
		return 0, j.err
	}
	n = j.n
	j.n, j.size, j.head = j.n+1, j.size+int64(len(line)), sum(line)
	return n, nil
}

// write puts the line on disk, or takes back what was written of it.
func (j *Journal) write(line []byte) error {
	_, err := j.file.Write(line)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return errors.Join(err, j.file.Truncate(j.size))
	}
	return nil
}

// Size returns the number of bytes of its whole lines.
func (j *Journal) Size() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.size
}

// Head is the hash of the last line and the number of entries; "" and 0 for
// an empty journal.
func (j *Journal) Head() (head string, n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.head, j.n
}

// Close lets another process write the journal. A second Close does nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	var err error
	if j.file != nil {
		err = j.file.Close()
		j.file = nil
	}
	if j.err == nil {
		j.err = fmt.Errorf("journal %s: it is closed", j.path)
	}
	return errors.Join(err, j.lock.Unlock())
}
