package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// A Program starts a driver.
type Program struct {
	Argv []string
	Env  []string // added to this process's own
}

func (p Program) String() string { return strings.Join(p.Argv, " ") }

// Provision makes an SDK's driver ready and answers how to start it. self is
// the command line of this binary, which holds the built-in drivers; others
// are built below cacheDir on first use, which may download. Any number of
// processes may provision the same SDK at the same time. progress may be nil.
func Provision(ctx context.Context, cacheDir string, self []string, sdk SDK, progress func(string)) (Program, error) {
	if progress == nil {
		progress = func(string) {}
	}
	var program Program
	var err error
	switch {
	case sdk.Builtin && len(self) == 0:
		err = errors.New("the command line of rmq-mcp is needed")
	case sdk.Builtin:
		program.Argv = append(append(program.Argv, self...), "driver", sdk.Package)
	case sdk.Lang == "python":
		program, err = provisionPython(ctx, cacheDir, sdk, progress)
	default:
		err = fmt.Errorf("no driver for %s", sdk.Lang)
	}
	if err != nil {
		return Program{}, fmt.Errorf("provision %s: %w", sdk, err)
	}
	return program, nil
}

// provisionOnce makes cacheDir/name by build, once. build works in another
// folder, which gets the name when it is complete: whatever dies on the way
// leaves nothing that looks finished.
func provisionOnce(ctx context.Context, cacheDir, name string, build func(dir string) error) (string, error) {
	final := filepath.Join(cacheDir, name)
	if err := os.MkdirAll(cacheDir, 0o755); err != nil {
		return "", err
	}
	lock := flock.New(filepath.Join(cacheDir, name+".lock"))
	if _, err := lock.TryLockContext(ctx, lockPoll); err != nil {
		return "", fmt.Errorf("wait for another process that builds %s: %w", final, err)
	}
	defer lock.Unlock()
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	dir, err := os.MkdirTemp(cacheDir, name+".building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := build(dir); err != nil {
		return "", err
	}
	return final, os.Rename(dir, final)
}
