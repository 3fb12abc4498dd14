package reports

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// WriteBelow replaces a file below root in one step, and makes its folders. A link on the way
// is an error, as [NoLink] has it.
func WriteBelow(root *os.Root, name string, content []byte) error {
	dir := filepath.Dir(name)
	if err := NoLink(root, dir); err != nil {
		return err
	}
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp := filepath.Join(dir, "."+filepath.Base(name)+"."+rand.Text())
	defer root.Remove(tmp) // of no effect once renamed
	f, err := root.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(root.Name(), name), err)
	}
	return root.Rename(tmp, name)
}

// NoLink is an error where name, or a folder that it is in, is a link. By one, somebody
// else who can write in root could choose where we write and remove.
func NoLink(root *os.Root, name string) error {
	at := ""
	for part := range strings.SplitSeq(filepath.Clean(name), string(filepath.Separator)) {
		at = filepath.Join(at, part)
		is, err := root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case is.Mode().Type() == fs.ModeSymlink:
			return fmt.Errorf("%s is a link, and could lead us elsewhere; remove it, or choose another place", filepath.Join(root.Name(), at))
		}
	}
	return nil
}

// WriteJSON replaces path in one step with v, indented.
func WriteJSON(path string, v any) error {
	b, err := JSON(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return WriteFile(path, b)
}
