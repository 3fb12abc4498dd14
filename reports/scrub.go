package reports

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// scrubLogs scrubs every file under the run directory's evidence/logs in place and
// returns how many lines changed. A broker writes its log itself.
func scrubLogs(dir string, s *secret.Scrubber) (int, error) {
	changed := 0
	logs := filepath.Join(dir, EvidenceDir, LogsDir)
	err := filepath.WalkDir(logs, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		n, err := scrubFile(path, s)
		changed += n
		if err != nil {
			return fmt.Errorf("scrub %s: %w", path, err)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return changed, err
}

// scrubFile writes a log anew where it has a secret, which takes room on the disk.
func scrubFile(path string, s *secret.Scrubber) (changed int, err error) {
	in, err := stored.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if changed, err = scrubCopy(io.Discard, in, s); err != nil || changed == 0 {
		return 0, err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	out, err := os.CreateTemp(filepath.Dir(path), ".scrub.*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	if changed, err = scrubCopy(out, in, s); err != nil {
		return 0, err
	}
	if err := errors.Join(out.Chmod(0o644), out.Close(), in.Close()); err != nil {
		return 0, err
	}
	return changed, os.Rename(out.Name(), path)
}

func scrubCopy(to io.Writer, from io.Reader, s *secret.Scrubber) (changed int, err error) {
	r, w := bufio.NewReaderSize(from, 1<<16), bufio.NewWriterSize(to, 1<<16)
	for {
		line, rerr := r.ReadBytes('\n')
		clean := s.Line(line)
		if !bytes.Equal(clean, line) {
			changed++
		}
		if _, err := w.Write(clean); err != nil {
			return changed, err
		}
		if rerr == io.EOF {
			return changed, w.Flush()
		}
		if rerr != nil {
			return changed, rerr
		}
	}
}
