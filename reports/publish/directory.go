package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/reports"
)

// directory publishes into a directory of this machine.
type directory string

func (d directory) publish(ctx context.Context, p publication) (Pushed, error) {
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return Pushed{}, err
	}
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return Pushed{}, err
	}
	defer root.Close()
	old, err := staleIn(root, p)
	if err != nil {
		return Pushed{}, err
	}
	if err := writeTree(ctx, root, p.files); err != nil {
		return Pushed{}, err
	}
	for _, name := range old {
		err = errors.Join(err, root.Remove(filepath.FromSlash(name)))
	}
	if err != nil {
		return Pushed{}, fmt.Errorf("remove pages of before: %w", err)
	}
	return Pushed{URL: d.where()}.of(p.files), nil
}

// staleIn are the files of before that go from a directory. It is an error where a folder would
// take the place of something else, or is reached through a link.
func staleIn(root *os.Root, p publication) (stale []string, err error) {
	for _, folder := range p.folders {
		if err := reports.NoLink(root, filepath.FromSlash(folder.Name)); err != nil {
			return nil, err
		}
		there, err := filesBelow(root, folder.Name)
		if err != nil {
			return nil, err
		}
		err = folder.takesPlace(there, func(name string, content []byte) (bool, error) {
			is, err := root.ReadFile(filepath.FromSlash(name))
			return bytes.Equal(is, content), err
		})
		if err != nil {
			return nil, err
		}
		stale = append(stale, folder.stale(there)...)
	}
	return stale, nil
}

// filesBelow are the regular files in and below a folder; none where it is not there.
func filesBelow(root *os.Root, folder string) (names []string, err error) {
	err = fs.WalkDir(root.FS(), folder, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}

// check is an error where a folder would be published over the files that it is made of, or
// over something else.
func (d directory) check(f Folder) error {
	to := filepath.Join(string(d), filepath.FromSlash(f.Name))
	there, terr := os.Stat(to)
	of, oerr := os.Stat(f.Of)
	if terr == nil && oerr == nil && os.SameFile(there, of) {
		return fmt.Errorf("publish %s: it is in that place already, and would be packed there; name another directory", f.Of)
	}
	root, err := os.OpenRoot(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	_, err = staleIn(root, publication{folders: []Folder{f}})
	return err
}

func (d directory) where() string { return "file://" + filepath.ToSlash(string(d)) }

func writeTree(ctx context.Context, root *os.Root, files []file) error {
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !filepath.IsLocal(filepath.FromSlash(f.path)) {
			return fmt.Errorf("publish %q: it leads out of the destination", f.path)
		}
		if err := reports.WriteBelow(root, filepath.FromSlash(f.path), f.content); err != nil {
			return err
		}
	}
	return nil
}
