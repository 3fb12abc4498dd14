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
	old, err := staleIn(string(d), p)
	if err != nil {
		return Pushed{}, err
	}
	if err := writeTree(ctx, string(d), p.files); err != nil {
		return Pushed{}, err
	}
	for _, name := range old {
		err = errors.Join(err, os.Remove(filepath.Join(string(d), filepath.FromSlash(name))))
	}
	if err != nil {
		return Pushed{}, fmt.Errorf("remove pages of before: %w", err)
	}
	return Pushed{URL: d.where()}.of(p.files), nil
}

// staleIn are the files of before that go from a directory. It is an error where a folder would
// take the place of something else.
func staleIn(root string, p publication) (stale []string, err error) {
	for _, folder := range p.folders {
		there, err := filesBelow(root, folder.Name)
		if err != nil {
			return nil, err
		}
		err = folder.takesPlace(there, func(name string, content []byte) (bool, error) {
			is, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
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
func filesBelow(root, folder string) (names []string, err error) {
	err = filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder)), func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(root, file)
		names = append(names, filepath.ToSlash(name))
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
	_, err := staleIn(string(d), publication{folders: []Folder{f}})
	return err
}

func (d directory) where() string { return "file://" + filepath.ToSlash(string(d)) }

func writeTree(ctx context.Context, root string, files []file) error {
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !filepath.IsLocal(filepath.FromSlash(f.path)) {
			return fmt.Errorf("publish %q: it leads out of the destination", f.path)
		}
		path := filepath.Join(root, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := reports.WriteFile(path, f.content); err != nil {
			return err
		}
	}
	return nil
}
