package reports

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// reserveFile keeps room on the disk while a run lasts. If the disk fills up
// meanwhile, the run can still be ended, sealed and judged in this room. If the
// run was killed, [Recover] removes the file with all others whose name begins
// with a dot.
const (
	reserveFile  = ".reserve"
	reserveBytes = 8 << 20
)

// Reserve takes room for the end of a run, in its directory.
func Reserve(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make run directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, reserveFile), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err == nil {
		_, err = io.CopyN(f, zeros{}, reserveBytes)
		err = errors.Join(err, f.Sync(), f.Close())
	}
	if err != nil {
		return fmt.Errorf("keep %d MB for the end of the run: %w; free some space, or give --dir on another disk", reserveBytes>>20, errors.Join(err, Release(dir)))
	}
	return nil
}

// ReleaseSome gives an eighth of the room back, of what was not given back before.
func ReleaseSome(dir string) error {
	path := filepath.Join(dir, reserveFile)
	info, err := os.Lstat(path)
	if err == nil {
		err = os.Truncate(path, max(0, info.Size()-reserveBytes/8))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Release gives the room back, which may have been done before.
func Release(dir string) error {
	err := os.Remove(filepath.Join(dir, reserveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
