package publish

import (
	"context"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/reports"
)

// directory publishes into a directory of this machine.
type directory string

func (d directory) publish(ctx context.Context, files []file, _ string) (Pushed, error) {
	if err := writeTree(ctx, string(d), files); err != nil {
		return Pushed{}, err
	}
	return Pushed{URL: d.where()}.of(files), nil
}

func (d directory) where() string { return "file://" + filepath.ToSlash(string(d)) }

func writeTree(ctx context.Context, root string, files []file) error {
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
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
