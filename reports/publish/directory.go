package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/reports"
)

// directory publishes into a directory of this machine.
type directory string

func (d directory) publish(ctx context.Context, p publication) (Pushed, error) {
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
		entries, err := os.ReadDir(filepath.Join(root, filepath.FromSlash(folder)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if name := path.Join(folder, e.Name()); e.Type().IsRegular() && p.stale(name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
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
