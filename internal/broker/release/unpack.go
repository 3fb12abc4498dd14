package release

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxUnpacked bounds all files of an archive, in bytes.
const maxUnpacked = 8 << 30

// unpack writes the directories and files of an archive below dir, and nothing
// anywhere else: links and devices are passed over, and a path that leads out
// is an error.
func unpack(archive, dir string) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	left := int64(maxUnpacked)
	for entries := tar.NewReader(plain); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			left, err = put(root, entry, entries, left)
		}
		if errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("the disk of %s is full: %w; make room there", dir, err)
		}
		if err != nil {
			return err
		}
	}
}

func put(root *os.Root, entry *tar.Header, from io.Reader, left int64) (int64, error) {
	name := filepath.Clean(filepath.FromSlash(strings.TrimPrefix(entry.Name, "./")))
	if !filepath.IsLocal(name) {
		return left, fmt.Errorf("%q leads out of the archive", entry.Name)
	}
	switch entry.Typeflag {
	case tar.TypeDir:
		return left, root.MkdirAll(name, 0o755)
	case tar.TypeReg:
	default:
		return left, nil
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return left, err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644|entry.FileInfo().Mode().Perm()&0o111)
	if err != nil {
		return left, err
	}
	defer file.Close()
	n, err := io.Copy(file, io.LimitReader(from, left+1))
	if err == nil && n > left {
		err = fmt.Errorf("it unpacks to more than %d bytes", int64(maxUnpacked))
	}
	if err == nil {
		err = file.Sync()
	}
	return left - n, errors.Join(err, file.Close())
}
