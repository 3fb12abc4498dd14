package history

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/internal/stored"
)

// Recover cuts a history that its recorder left torn back to what is whole:
// history.arrow to its last whole message, tables.jsonl to its last whole line. It
// returns how many bytes it cut, and may be called again.
//
// A history that was not ended in order stays without the marker that ends
// it, so its reader's Ended is false for ever, wherever the file goes; to
// every reader of Arrow streams it is a valid one all the same. The recorder
// must be dead.
func Recover(dir string) (cut int64, err error) {
	return recovery{cutFile}.run(dir)
}

// A recovery cuts files by cut, from size to whole bytes.
type recovery struct {
	cut func(path string, whole, size int64) error
}

func (r recovery) run(dir string) (cut int64, err error) {
	events, ended, err := r.events(filepath.Join(dir, EventsFile))
	if err != nil {
		return 0, err
	}
	tables, err := r.tables(filepath.Join(dir, TablesFile))
	if err != nil {
		return events, err
	}
	if tables > 0 && ended {
		// A crash cannot do this; all the same it must not look complete.
		return events + tables, r.unend(filepath.Join(dir, EventsFile))
	}
	return events + tables, nil
}

func (r recovery) events(path string) (cut int64, ended bool, err error) {
	file, err := stored.Open(path)
	if err != nil {
		return 0, false, missing(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return 0, false, fmt.Errorf("recover: %w", err)
	}
	m := &messages{file: file, size: info.Size()}
	for err == nil {
		_, err = m.Message()
	}
	switch m.end {
	case io.EOF:
		return 0, true, nil
	case errCut:
		return m.size - m.pos, false, r.cut(path, m.pos, m.size)
	default:
		return 0, false, fmt.Errorf("recover %s: %w; it was not torn by a crash but changed, nothing was done to it", path, m.end)
	}
}

func (r recovery) tables(path string) (cut int64, err error) {
	data, err := stored.ReadFile(path, stored.MostJSON)
	if err != nil {
		return 0, missing(err)
	}
	_, whole, err := parseTables(data)
	if err != nil {
		return 0, fmt.Errorf("recover %s: %w; it was not torn by a crash but changed, nothing was done to it", path, err)
	}
	size := int64(len(data))
	return size - whole, r.cut(path, whole, size)
}

// unend removes the marker that ends the stream.
func (r recovery) unend(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	return r.cut(path, info.Size()-prefixSize, info.Size())
}

// cutFile returns when the cut is on disk.
func cutFile(path string, whole, size int64) error {
	if whole == size {
		return nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if err := errors.Join(file.Truncate(whole), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	return nil
}
