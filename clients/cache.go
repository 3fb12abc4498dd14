package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/install"
)

// A cache is the folder below which everything is made and downloaded:
//
//	python-paho-mqtt-2.1.0-0c5f…/          a driver, complete
//	python-paho-mqtt-2.1.0-0c5f….lock      locked to make it, and shared to run it
//	python-paho-mqtt-2.1.0-0c5f….building-…/  being made, or left by a build that died
//	downloads/python/                      the package manager's own cache
//	downloads.lock                         shared to make a driver
type cache struct{ dir string }

func cacheIn(dir string) cache { return cache{filepath.Join(dir, "sdks")} }

const (
	lockSuffix = ".lock"
	building   = ".building-"
	downloads  = "downloads"
)

// folderName is where a driver is, below the cache.
func folderName(sdk SDK, key string) string {
	plain := func(r rune) rune {
		if strings.ContainsRune(`/\:@ `, r) {
			return '-'
		}
		return r
	}
	return strings.Map(plain, sdk.Lang+"-"+sdk.Package+"-"+sdk.Version) + "-" + key
}

func lockOf(dir string) string { return dir + lockSuffix }

func (c cache) downloads(lang string) string { return filepath.Join(c.dir, downloads, lang) }

// once makes the folder name by build, once. build works in another folder, which
// gets the name when it is complete: a build that dies on the way leaves nothing
// finished behind.
func (c cache) once(ctx context.Context, name string, build func(dir, temp string) error) (string, error) {
	final := filepath.Join(c.dir, name)
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return "", err
	}
	lock, err := install.Lock(ctx, lockOf(final))
	if err != nil {
		return "", fmt.Errorf("wait for another process that builds %s: %w", final, err)
	}
	defer lock.Unlock()
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	if err := c.removeLeftovers(name); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(c.dir, name+building)
	if err != nil {
		return "", err
	}
	defer removeAll(work)
	dir, temp := filepath.Join(work, "made"), filepath.Join(work, "temp")
	for _, folder := range []string{dir, temp} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			return "", err
		}
	}
	if err := build(dir, temp); err != nil {
		return "", err
	}
	return final, os.Rename(dir, final)
}

// removeLeftovers removes what builds of a folder left that died. The caller
// holds its lock, so that none is alive.
func (c cache) removeLeftovers(name string) error {
	left, err := filepath.Glob(filepath.Join(c.dir, name+building+"*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := removeAll(dir); err != nil {
			return fmt.Errorf("remove the rest of a build that died: %w", err)
		}
	}
	return nil
}

// fill makes the package manager's cache of a language. Nobody removes it until
// release is called.
func (c cache) fill(ctx context.Context, lang string) (release func() error, err error) {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := install.RLock(ctx, lockOf(filepath.Join(c.dir, downloads)))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(c.downloads(lang), 0o755); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return lock.Unlock, nil
}
