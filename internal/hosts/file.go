package hosts

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"
)

// mark is the byte order mark that some editors of Windows write first. It is
// no part of the text, and stays where it was.
var mark = []byte("\xef\xbb\xbf")

// A file is a configuration as it was found.
type file struct {
	path   string // with links followed
	linked bool   // it was found through one
	info   fs.FileInfo
	bytes  []byte // nil: there is no file
}

// read reads a file, through a link to it.
func read(path string) (file, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file{path: path}, nil
	}
	if err != nil {
		return file{}, fmt.Errorf("read %s: %w", path, err)
	}
	linked := info.Mode()&fs.ModeSymlink != 0
	if linked {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return file{}, fmt.Errorf("read %s: the link points nowhere: %w; create its target, or remove it", path, err)
		}
		path = real
	}
	if info, err = os.Stat(path); err != nil {
		return file{}, fmt.Errorf("read %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return file{}, fmt.Errorf("read %s: it is no file; move it away", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return file{}, fmt.Errorf("read %s: %w", path, err)
	}
	if !utf8.Valid(content) {
		return file{}, fmt.Errorf("read %s: it is not UTF-8; save it as UTF-8 and run this again. Nothing was changed", path)
	}
	return file{path, linked, info, append([]byte{}, content...)}, nil
}

// text is what the file says.
func (f file) text() []byte { return bytes.TrimPrefix(f.bytes, mark) }

// with is the file's bytes with another text; never nil.
func (f file) with(text []byte) []byte {
	out := []byte{}
	if bytes.HasPrefix(f.bytes, mark) {
		out = append(out, mark...)
	}
	return append(out, text...)
}

// makeDir makes a directory and those above it, and answers the nearest that
// there was.
func makeDir(dir string) (fs.FileInfo, error) {
	near, err := os.Stat(dir)
	above := filepath.Dir(dir)
	if !errors.Is(err, fs.ErrNotExist) || above == dir {
		return near, err
	}
	if near, err = makeDir(above); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	return near, adopt(dir, near)
}

// adopt gives what is new the owner and the group of the directory in which it
// is, where root makes it: sudo may keep the user's HOME, and then the user's
// own programs must be able to write there.
func adopt(path string, dir fs.FileInfo) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return keepOwner(path, dir)
}

// draft writes the new content of a file under a name beside it and returns that
// name. Renaming it is one step, so that a host never reads half of a file. The new
// file has the mode, the owner and the group of like. If like is nil, it is a new
// file of dir with the given mode.
func draft(path string, content []byte, mode fs.FileMode, like, dir fs.FileInfo) (string, error) {
	if like != nil {
		mode = 0o600 // until it belongs to whom it should
	}
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text())
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode) // not CreateTemp, which knows no umask
	if err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(content)
	if err == nil && like == nil {
		err = adopt(name, dir)
	}
	if err == nil && like != nil {
		err = errors.Join(keepOwner(name, like), f.Chmod(like.Mode().Perm()))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(name)
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return name, nil
}
