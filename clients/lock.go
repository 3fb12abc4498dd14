package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
)

// A locker is a toolchain whose package manager can tell which packages an SDK
// takes.
type locker interface {
	// resolve answers the lock of b.sdk: with what it needs, exact versions,
	// and hashes as the package index has them now. It works in b.temp.
	resolve(ctx context.Context, b build) ([]byte, error)
}

// Lock writes the lock of an SDK of the catalogue into the source tree of
// rmq-mcp at root, and returns the file's path below it. Downloads go below
// cacheDir. progress may be nil.
func Lock(ctx context.Context, cacheDir, root string, sdk SDK, progress func(string)) (string, error) {
	name, err := writeLock(ctx, cacheIn(cacheDir), root, sdk, progress)
	if err != nil {
		return "", fmt.Errorf("lock %s: %w", sdk, err)
	}
	return name, nil
}

func writeLock(ctx context.Context, c cache, root string, sdk SDK, progress func(string)) (string, error) {
	l, err := libraryOf(sdk)
	if err != nil {
		return "", err
	}
	folder := path.Join("clients", "drivers", l.Source)
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(folder))); err != nil {
		return "", fmt.Errorf("%w; call it in the source tree of rmq-mcp, or name that with --source", err)
	}
	resolver, able := l.build.(locker)
	if !able {
		return "", errors.New("its toolchain cannot write a lock: write it by hand, clients/README.md says how")
	}
	if missing := l.build.missing(ctx, sdk); missing != "" {
		return "", &Unsupported{sdk, missing}
	}
	b, err := newBuild(l, sdk)
	if err != nil {
		return "", err
	}
	if progress != nil {
		b.say = func(text string) { progress(sdk.String() + ": " + text) }
	}
	b.downloads = c.downloads(sdk.Lang)
	release, err := c.fill(ctx, sdk.Lang)
	if err != nil {
		return "", err
	}
	defer release()
	if b.temp, err = os.MkdirTemp("", "rmq-mcp-lock-*"); err != nil {
		return "", err
	}
	defer os.RemoveAll(b.temp)
	lock, err := resolver.resolve(ctx, b)
	if err != nil {
		return "", err
	}
	name := path.Join(folder, lockName(sdk))
	file := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return name, os.WriteFile(file, lock, 0o644)
}
