package keeper

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// stateVersion is of the layout of the state directory.
const stateVersion = "1"

// OpenState makes a state directory, or checks that this rmq-mcp can use an existing
// one. It changes nothing in a directory that is somebody else's:
//
//	version   1
//	runs/     a directory for each run
//	live/     how to reach running keepers, and what dead ones left undone
//	cache/    downloads and builds
//	brokers/  a lock for each broker of somebody else
func OpenState(dir string) error {
	made, err := CheckState(dir)
	if err != nil {
		return err
	}
	for _, sub := range stateDirs() {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return fmt.Errorf("make state directory: %w; give another with --dir", err)
		}
	}
	if made {
		return nil
	}
	// Several may do this at once, each with a file of its own.
	path := filepath.Join(dir, stateFile)
	return writeFile(path, fmt.Sprintf("%s.new-%d", path, os.Getpid()), []byte(stateVersion+"\n"))
}

// stateFile has the version of a state directory, by which one is known.
const stateFile = "version"

func stateDirs() []string { return []string{"runs", "live", "cache", "brokers"} }

// CheckState looks whether a directory is a state directory that this rmq-mcp can
// use, and changes nothing. Made is false where there is none yet and one can be
// made: the directory is not there, or empty.
func CheckState(dir string) (made bool, err error) {
	if made, err = stateMade(dir); err != nil || made {
		return made, err
	}
	foreign, err := foreignIn(dir)
	if err != nil {
		return false, fmt.Errorf("open state directory: %w; give another with --dir", err)
	}
	if foreign == "" {
		return false, nil
	}
	if made, err = stateMade(dir); err != nil || made { // by somebody else, meanwhile
		return made, err
	}
	return false, fmt.Errorf("%s has no file %s and is not empty (%s): it is not a state directory of rmq-mcp, and nothing was changed; give another with --dir", dir, stateFile, foreign)
}

func stateMade(dir string) (bool, error) {
	found, err := os.ReadFile(filepath.Join(dir, stateFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("open state directory: %w; give another with --dir", err)
	}
	if v := strings.TrimSpace(string(found)); v != stateVersion {
		return false, fmt.Errorf("state directory %s has version %q, this rmq-mcp uses %s: give another with --dir, or use the rmq-mcp that made it", dir, v, stateVersion)
	}
	return true, nil
}

// foreignIn is something in a directory that is not of a state directory that is
// being made just now; "" where there is nothing.
func foreignIn(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		if slices.Contains(stateDirs(), e.Name()) && e.IsDir() {
			if within, err := os.ReadDir(filepath.Join(dir, e.Name())); err != nil || len(within) > 0 {
				return e.Name(), err
			}
		} else if !strings.HasPrefix(e.Name(), stateFile+".new-") {
			return e.Name(), nil
		}
	}
	return "", nil
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
