package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/internal/stored"
)

// ExcerptsDir has excerpts of the long logs of a run, in a copy that packs them: one of each, by
// its name. They are no evidence, and [Verify] holds them against it.
const ExcerptsDir = "excerpts"

// mostExcerpt is how many bytes of a log an excerpt has.
const mostExcerpt = 256 << 10

// Excerpt is the beginning and the end of a log of size bytes, in whole lines. A line between
// them says how much is missing.
func Excerpt(log io.ReaderAt, size int64) ([]byte, error) { return excerpt(log, size, mostExcerpt) }

func excerpt(log io.ReaderAt, size, limit int64) ([]byte, error) {
	if size <= limit {
		return io.ReadAll(io.NewSectionReader(log, 0, size))
	}
	head, err := io.ReadAll(io.NewSectionReader(log, 0, limit/2))
	if err != nil {
		return nil, err
	}
	tail, err := io.ReadAll(io.NewSectionReader(log, size-limit/2, limit/2))
	if err != nil {
		return nil, err
	}
	head = head[:bytes.LastIndexByte(head, '\n')+1]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	missing := size - int64(len(head)+len(tail))
	return fmt.Appendf(nil, "%s\n[%d of %d bytes of the log are not in this excerpt]\n\n%s", head, missing, size, tail), nil
}

// falseExcerpts names the excerpts of a run that are not of its logs.
func falseExcerpts(dir string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, ExcerptsDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		is, err := isExcerpt(dir, e.Name())
		if err != nil {
			return nil, err
		}
		if !is {
			names = append(names, path.Join(ExcerptsDir, e.Name()))
		}
	}
	return names, err
}

// isExcerpt reports whether an excerpt is of the log of its name.
func isExcerpt(dir, name string) (bool, error) {
	log, err := stored.Open(filepath.Join(dir, EvidenceDir, LogsDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer log.Close()
	info, err := log.Stat()
	if err != nil {
		return false, err
	}
	want, err := Excerpt(log, info.Size())
	if err != nil {
		return false, fmt.Errorf("read %s: %w", log.Name(), err)
	}
	is, err := stored.ReadFile(filepath.Join(dir, ExcerptsDir, name), stored.MostText)
	return bytes.Equal(is, want), err
}
