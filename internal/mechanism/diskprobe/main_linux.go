package diskprobe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// Main is a helper: it answers questions about a directory until its input
// ends.
func Main(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("a disk probe takes a directory, not %q", args)
	}
	h := hand{dir: args[0]}
	answers := json.NewEncoder(out)
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var q Question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		if err := answers.Encode(h.answer(q)); err != nil {
			return err
		}
	}
	return nil
}

// A hand touches a directory. Every file it makes has a new name.
type hand struct {
	dir string
	n   int
}

func (h *hand) answer(q Question) (a Answer) {
	var err error
	switch q.Do {
	case "touch":
		a, err = h.touch(disk.Op(q.Op), max(1, q.Times))
	case "byte":
		a.Value, err = h.byte(q.Path, q.Offset)
	case "count":
		a.Value, err = h.count()
	default:
		err = fmt.Errorf("no question %q", q.Do)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

func (h *hand) byte(path string, offset int64) (int64, error) {
	f, err := os.Open(filepath.Join(h.dir, path))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, offset); err != nil {
		return 0, fmt.Errorf("read %s at %d: %w", path, offset, err)
	}
	return int64(b[0]), nil
}

func (h *hand) count() (n int64, err error) {
	err = filepath.WalkDir(h.dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && !strings.HasPrefix(e.Name(), disk.ProbePrefix) {
			n++
		}
		return err
	})
	return n, err
}

// touch makes the files that an operation needs, does the operation until it fails,
// and removes the files again. A failure to prepare is an error, as it says nothing
// of the operation.
func (h *hand) touch(op disk.Op, times int) (Answer, error) {
	do, clean, err := h.prepare(op)
	defer clean()
	if err != nil {
		return Answer{}, fmt.Errorf("prepare a %s: %w", op, err)
	}
	var a Answer
	for range times {
		began := time.Now()
		err := do()
		a.TookNS = int64(time.Since(began))
		if err != nil {
			a.Errno, err = name(err)
			return a, err
		}
	}
	return a, nil
}

// name is the errno's: ENOSPC.
func name(err error) (string, error) {
	var errno syscall.Errno
	for inner := err; inner != nil; {
		if e, ok := inner.(syscall.Errno); ok {
			errno = e
			break
		}
		u, ok := inner.(interface{ Unwrap() error })
		if !ok {
			return "", err
		}
		inner = u.Unwrap()
	}
	if text := unix.ErrnoName(errno); text != "" {
		return text, nil
	}
	return fmt.Sprintf("errno %d", int(errno)), nil
}

func (h *hand) path() string {
	h.n++
	return filepath.Join(h.dir, fmt.Sprintf("%s-%d-%d", disk.ProbePrefix, os.Getpid(), h.n))
}

const blockBytes = 4096

// prepare answers how to do an operation once more, and how to clean up.
func (h *hand) prepare(op disk.Op) (do func() error, clean func(), err error) {
	switch op {
	case disk.Create, disk.Mkdir, disk.Stat, disk.Rmdir:
		do, clean = h.onNames(op)
		return do, clean, nil
	case disk.ReadDir, disk.FsyncDir:
		return h.onDirectory(op)
	}
	path := h.path()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, func() {}, err
	}
	made := []string{path}
	clean = func() {
		f.Close()
		for _, p := range made {
			os.Remove(p)
		}
	}
	if op != disk.Write {
		if _, err := f.WriteAt(make([]byte, blockBytes), 0); err != nil {
			return nil, clean, err
		}
	}
	block, at := make([]byte, blockBytes), int64(0)
	do = map[disk.Op]func() error{
		disk.Write: func() error {
			_, err := f.WriteAt(block, at%(64*blockBytes))
			at += blockBytes
			return err
		},
		disk.Fsync:    f.Sync,
		disk.Truncate: func() error { at ^= 1; return f.Truncate(blockBytes + at) },
		disk.Allocate: func() error { at += blockBytes; return unix.Fallocate(int(f.Fd()), 0, at%(64*blockBytes), blockBytes) },
		disk.Open: func() error {
			g, err := os.Open(path)
			if err == nil {
				g.Close()
			}
			return err
		},
		disk.Read: func() error { return reread(path, block) },
		disk.Rename: func() error {
			to := h.path()
			made = append(made, to)
			err := os.Rename(path, to)
			if err == nil {
				path = to
			}
			return err
		},
		disk.Link: func() error {
			to := h.path()
			made = append(made, to)
			return os.Link(path, to)
		},
		disk.Unlink: func() error {
			err := os.Remove(path)
			if err == nil {
				path = h.path()
				made = append(made, path)
				var g *os.File
				if g, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
					g.Close()
				}
			}
			return err
		},
	}[op]
	if do == nil {
		return nil, clean, fmt.Errorf("no operation %q", op)
	}
	return do, clean, nil
}

// reread reads a block that the page cache does not have: an open forgets what
// it had of the file.
func reread(path string, block []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	_, err = f.ReadAt(block, 0)
	return err
}

// onNames are the operations that need no file.
func (h *hand) onNames(op disk.Op) (do func() error, clean func()) {
	var made []string
	clean = func() {
		for _, p := range made {
			os.Remove(p)
		}
	}
	fresh := func() string {
		path := h.path()
		made = append(made, path)
		return path
	}
	return map[disk.Op]func() error{
		disk.Create: func() error {
			f, err := os.OpenFile(fresh(), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
			if err == nil {
				f.Close()
			}
			return err
		},
		disk.Mkdir: func() error { return os.Mkdir(fresh(), 0o700) },
		disk.Rmdir: func() error {
			path := fresh()
			if err := os.Mkdir(path, 0o700); err != nil {
				return err
			}
			return os.Remove(path)
		},
		disk.Stat: func() error {
			_, err := os.Lstat(h.path())
			if os.IsNotExist(err) {
				return nil
			}
			return err
		},
	}[op], clean
}

// onDirectory are the operations on a directory. It is one of our own: what is done to
// the broker's counts as the broker's.
func (h *hand) onDirectory(op disk.Op) (do func() error, clean func(), err error) {
	path := h.path()
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, func() {}, err
	}
	clean = func() { os.Remove(path) }
	if op == disk.ReadDir {
		return func() error { _, err := os.ReadDir(path); return err }, clean, nil
	}
	return func() error {
		d, err := os.Open(path)
		if err != nil {
			return err
		}
		defer d.Close()
		return d.Sync()
	}, clean, nil
}
