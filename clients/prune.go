package clients

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gofrs/flock"
)

// Pruned is what a prune did.
type Pruned struct {
	Removed []string `json:"removed"` // names below the cache
	InUse   []string `json:"in_use"`  // would have been removed, but somebody builds or runs it
	Bytes   int64    `json:"bytes"`   // freed
}

// Prune removes everything below cacheDir that this build of rmq-mcp does not use:
// drivers of other sources, locks and interpreters, and the leftovers of builds that
// died. With all it removes every driver and the downloads. Files in use stay, and
// so do files not made by rmq-mcp.
func Prune(ctx context.Context, cacheDir string, all bool) (Pruned, error) {
	c := cacheIn(cacheDir)
	var out Pruned
	entries, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("prune: %w", err)
	}
	used := map[string]bool{}
	if !all {
		used = usedFolders(ctx)
	}
	for _, entry := range entries {
		name, what := entry.Name(), guarded(entry.Name())
		keep := what == "" || name == what && used[name] || name == downloads && !all ||
			strings.HasSuffix(name, lockSuffix) && (used[what] || exists(filepath.Join(c.dir, what)))
		if keep {
			continue
		}
		if err := c.remove(name, what, &out); err != nil {
			return out, fmt.Errorf("prune: %w", err)
		}
	}
	return out, nil
}

// madeName matches the folder of a driver, what belongs to it, and the folder
// of downloads.
var madeName = regexp.MustCompile(`^([a-z]+-.+-[0-9a-f]{` + fmt.Sprint(keyDigits) + `}|` + downloads + `)(` +
	regexp.QuoteMeta(lockSuffix) + `|` + regexp.QuoteMeta(building) + `.*)?$`)

// guarded is the folder whose lock guards an entry of the cache; "" for what is
// not ours.
func guarded(name string) string {
	if match := madeName.FindStringSubmatch(name); match != nil {
		return match[1]
	}
	return ""
}

// usedFolders are the drivers that this build would run on this machine.
func usedFolders(ctx context.Context) map[string]bool {
	used := map[string]bool{}
	for _, sdk := range SDKs() {
		if sdk.Builtin {
			continue
		}
		l, b, err := prepare(sdk)
		if err != nil {
			continue // it has no lock yet: it cannot have been made
		}
		if name, err := b.name(l.build.identity(ctx)); err == nil {
			used[name] = true
		}
	}
	return used
}

// remove removes an entry of the cache, unless somebody has the folder's lock.
func (c cache) remove(name, folder string, out *Pruned) error {
	path, dir := filepath.Join(c.dir, name), filepath.Join(c.dir, folder)
	lock := flock.New(lockOf(dir))
	free, err := lock.TryLock()
	if err != nil {
		return err
	}
	isLock := path == lockOf(dir)
	if !free {
		if !isLock {
			out.InUse = append(out.InUse, name)
		}
		return nil
	}
	defer lock.Unlock()
	if !isLock {
		size := sizeOf(path)
		if err := removeAll(path); err != nil {
			return err
		}
		out.Removed, out.Bytes = append(out.Removed, name), out.Bytes+size
	}
	if !exists(dir) {
		os.Remove(lockOf(dir)) // Windows keeps what is open; it is empty
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// sizeOf sums up the files below a path; what cannot be read counts nothing.
func sizeOf(path string) (bytes int64) {
	filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// removeAll removes also below folders that may not be written to: Go's module
// cache has such.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			os.Chmod(name, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
