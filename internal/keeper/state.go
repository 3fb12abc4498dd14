package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// stateVersion is of the layout of the state directory.
const stateVersion = "1"

// OpenState makes a state directory, or checks that it is one that this
// version can use:
//
//	version   1
//	runs/     a directory for each run
//	live/     how to reach the keepers that run, and what dead ones left undone
//	cache/    what was downloaded or built
func OpenState(dir string) error {
	path := filepath.Join(dir, "version")
	found, err := os.ReadFile(path)
	switch {
	case err == nil:
		if v := strings.TrimSpace(string(found)); v != stateVersion {
			return fmt.Errorf("state directory %s has version %q, this rmq-mcp uses %s: give another with --dir, or use the rmq-mcp that made it", dir, v, stateVersion)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open state directory: %w; give another with --dir", err)
	}
	for _, sub := range []string{"runs", "live", "cache"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return fmt.Errorf("make state directory: %w; give another with --dir", err)
		}
	}
	if found != nil {
		return nil
	}
	// Several may do this at once, each with a file of its own.
	return writeFile(path, fmt.Sprintf("%s.new-%d", path, os.Getpid()), []byte(stateVersion+"\n"))
}

// writeFile replaces a file at once, by way of another: a reader sees the old
// one or the new one.
func writeFile(path, tmp string, data []byte) error {
	err := os.WriteFile(tmp, data, 0o600)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func runDir(stateDir, id string) string { return filepath.Join(stateDir, "runs", id) }

// livePath is a file in live/ about one run. .json says how to reach its
// keeper; .lock is held by its guard, and stays until everything is undone;
// .children lists processes that the kernel would not end by itself.
func livePath(stateDir, id, ext string) string { return filepath.Join(stateDir, "live", id+ext) }
