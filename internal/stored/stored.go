// Package stored reads files that a stranger may have written: runs that were
// copied here, published or handed on. Only regular files inside their directory
// are read, up to a size, and what they say is made plain.
package stored

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/robustmq/rmq-mcp/internal/plain"
)

// Most bytes of files that are read whole.
const (
	MostJSON = 64 << 20 // a report of a run with many violations is 1 MB
	MostText = 16 << 20
)

// idForm is what the id of a run, a matrix or a plan looks like. It becomes part
// of paths and of addresses.
var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// IsID reports whether a name can be an id.
func IsID(name string) bool { return idForm.MatchString(name) }

// Slug is the last part of a scenario's name or path as a part of an id: nothing in it
// that a file name, an address or a shell would mind. It is "" where nothing is left.
func Slug(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, strings.TrimSuffix(filepath.Base(name), ".md"))
	clean = strings.Trim(clean, "-")
	return clean[:min(len(clean), 40)]
}

// Open opens a regular file, or what one beside it with [Packed] has. Anything else is an
// error, and nobody waits for a pipe: a link that leads out of the file's directory, a
// directory, a device.
func Open(path string) (*os.File, error) {
	f, err := open(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	packed, perr := open(path + Packed)
	if perr != nil {
		return nil, err
	}
	return unpack(packed)
}

func open(path string) (*os.File, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(filepath.Base(path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		var at *os.PathError
		if errors.As(err, &at) { // the root's error names the file alone
			err = &os.PathError{Op: "open", Path: path, Err: at.Err}
		}
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: it is no regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// ReadFile reads a file as [Open] opens it, of at most so many bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		packed, perr := open(path + Packed)
		if perr != nil {
			return nil, err
		}
		defer packed.Close()
		r, rerr := unpacking(packed)
		if rerr != nil {
			return nil, rerr
		}
		defer r.Close()
		return readAll(r, path, most)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, path, most)
}

func readAll(r io.Reader, path string, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if int64(len(content)) > most {
		return nil, fmt.Errorf("read %s: it has more than %d bytes", path, most)
	}
	return content, nil
}

// ReadJSON reads a file of JSON into v, whose texts are plain then.
func ReadJSON(path string, v any) error {
	content, err := ReadFile(path, MostJSON)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(plain.JSON(content), v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
