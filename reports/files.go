package reports

import (
	"fmt"
	"os"
	"path/filepath"
)

// A file is one of a run directory.
type file struct {
	path    string
	content []byte
}

// WriteFile replaces path in one step, so that no reader sees half of it and a
// full disk leaves the old one.
func WriteFile(path string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // of no effect once renamed
	if _, err := tmp.Write(content); err != nil {
		tmp.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := tmp.Chmod(0o644); err != nil {
		tmp.Close()
		return err
	}
	if err := tmp.Sync(); err != nil {
		tmp.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := tmp.Close(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(tmp.Name(), path)
}

// WriteJSON replaces path in one step with v, indented.
func WriteJSON(path string, v any) error {
	b, err := JSON(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return WriteFile(path, b)
}
