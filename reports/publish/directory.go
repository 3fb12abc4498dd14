package publish

import (
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
	for _, f := range p.folders {
		if err := d.isSource(f); err != nil {
			return Pushed{}, err
		}
	}
	if err := writeTree(ctx, string(d), p.files); err != nil {
		return Pushed{}, err
	}
	old, err := staleIn(string(d), p)
	for _, name := range old {
		err = errors.Join(err, os.Remove(filepath.Join(string(d), filepath.FromSlash(name))))
	}
	if err != nil {
		return Pushed{}, fmt.Errorf("remove pages of before: %w", err)
	}
	return Pushed{URL: d.where()}.of(p.files), nil
}

// staleIn are the files of before that go from a directory.
func staleIn(root string, p publication) (names []string, err error) {
	for _, folder := range p.folders {
		var there []string
		err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(folder.Name)), func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			name, err := filepath.Rel(root, file)
			there = append(there, filepath.ToSlash(name))
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		names = append(names, folder.stale(there)...)
	}
	return names, nil
}

// isSource is an error where a folder would be published over the files that it is made of.
func (d directory) isSource(f Folder) error {
	to := filepath.Join(string(d), filepath.FromSlash(f.Name))
	there, terr := os.Stat(to)
	of, oerr := os.Stat(f.Of)
	if terr == nil && oerr == nil && os.SameFile(there, of) {
		return fmt.Errorf("publish %s: it is in that place already, and would be packed there; name another directory", f.Of)
	}
	return nil
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
