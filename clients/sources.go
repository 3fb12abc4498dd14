package clients

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// drivers has the sources of every driver, so that they can be built wherever
// this binary is. Files that begin with a dot or an underscore are left out.
//
//go:embed drivers
var drivers embed.FS

// locks is the folder of a driver's locks, a file a version.
const locks = "locks"

// keyDigits is how many hexadecimal digits tell apart the builds of one SDK.
const keyDigits = 12

// newBuild has the sources of an SDK's driver.
func newBuild(l Library, sdk SDK) (build, error) {
	b := build{sdk: sdk, say: func(string) {}}
	var err error
	if b.source, err = folder(l.Source); err != nil {
		return build{}, err
	}
	if l.Shared != "" {
		b.shared, err = folder(l.Shared)
	}
	return b, err
}

// readLock adds the lock.
func (b *build) readLock() (err error) {
	b.lock, err = fs.ReadFile(b.source, lockName(b.sdk))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no lock says what may be downloaded for it; `rmq-mcp sdks lock %s` writes one", b.sdk)
	}
	return err
}

// lockName is the file of an SDK's lock, in the folder of its sources.
func lockName(sdk SDK) string { return path.Join(locks, sdk.Version) }

func folder(name string) (fs.FS, error) {
	if _, err := fs.Stat(drivers, path.Join("drivers", name)); err != nil {
		return nil, fmt.Errorf("the driver's sources: %w", err)
	}
	return fs.Sub(drivers, path.Join("drivers", name))
}

// name is the driver's folder in the cache.
func (b build) name(identity string) (string, error) {
	key, err := b.key(identity)
	return folderName(b.sdk, key), err
}

// key tells apart the drivers of one SDK that were made of other sources, with
// another lock or for another machine.
func (b build) key(identity string) (string, error) {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s %s/%s\n%d\n%s", identity, runtime.GOOS, runtime.GOARCH, len(b.lock), b.lock)
	for _, from := range []fs.FS{b.source, b.shared} {
		err := eachSource(from, func(name string, content []byte) error {
			fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
			return nil
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:keyDigits], nil
}

// copySources copies the driver's sources and then those that it shares into a
// folder, which is made.
func (b build) copySources(dir string) error {
	for _, from := range []fs.FS{b.source, b.shared} {
		err := eachSource(from, func(name string, content []byte) error {
			file := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
			return os.WriteFile(file, content, 0o644)
		})
		if err != nil {
			return fmt.Errorf("copy the driver's sources: %w", err)
		}
	}
	return nil
}

// eachSource calls do with every file but the locks, by name in order.
func eachSource(from fs.FS, do func(name string, content []byte) error) error {
	if from == nil {
		return nil
	}
	return fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(name, locks+"/") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		return do(name, content)
	})
}
