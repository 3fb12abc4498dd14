package stored

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/robustmq/rmq-mcp/internal/plain"
)

// AppendJSON adds one line of JSON to a file, on disk when it returns.
func AppendJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	if err := endLine(f); err != nil {
		return errors.Join(err, f.Close())
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// ReadJSONs reads a file of JSON lines. A missing file is no error. A process
// that was killed while it wrote leaves half a line. That line is left out, and
// its work is done again.
func ReadJSONs[T any](path string) (list []T, err error) {
	text, err := ReadFile(path, MostJSON)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var v T
		if json.Unmarshal(plain.JSON(line), &v) == nil {
			list = append(list, v)
		}
	}
	return list, nil
}

// endLine ends half a line that a killed process left.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.Write([]byte{'\n'})
	return err
}
