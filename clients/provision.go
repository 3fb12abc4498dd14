package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/robustmq/rmq-mcp/internal/install"
)

// A Program starts a driver.
type Program struct {
	Argv []string
	Env  []string // added to this process's own
	SDK  SDK      // whose driver it is to be; the zero value where nobody says

	hold string // file to lock while it runs, so that nobody removes what it is made of; "" for none
}

func (p Program) String() string { return strings.Join(p.Argv, " ") }

// take keeps what a program is made of from being removed, until release is
// called.
func (p Program) take(ctx context.Context) (release func() error, err error) {
	if p.hold == "" {
		return func() error { return nil }, nil
	}
	lock, err := install.RLock(ctx, p.hold)
	if err != nil {
		return nil, fmt.Errorf("wait until no process makes or removes it: %w", err)
	}
	if dir := strings.TrimSuffix(p.hold, lockSuffix); !exists(dir) {
		return nil, errors.Join(fmt.Errorf("%s was removed meanwhile; `rmq-mcp sdks install` makes it", dir), lock.Unlock())
	}
	return lock.Unlock, nil
}

// Unsupported is an SDK whose driver cannot be made on this machine, because
// it lacks something.
type Unsupported struct {
	SDK     SDK
	Missing string // what, and the line that installs it
}

func (u *Unsupported) Error() string { return u.Missing }

// Provision makes an SDK's driver ready and answers how to start it. self is
// the command line of this binary, which holds the built-in drivers; others
// are built below cacheDir on first use, which may download. Any number of
// processes may provision the same SDK at the same time. progress may be nil.
// The error is [Unsupported] where this machine lacks what it takes.
func Provision(ctx context.Context, cacheDir string, self []string, sdk SDK, progress func(string)) (Program, error) {
	program, err := provision(ctx, cacheDir, self, sdk, progress)
	if err != nil {
		return Program{}, fmt.Errorf("provision %s: %w", sdk, err)
	}
	program.SDK = sdk
	return program, nil
}

func provision(ctx context.Context, cacheDir string, self []string, sdk SDK, progress func(string)) (Program, error) {
	if sdk.Builtin {
		if len(self) == 0 {
			return Program{}, errors.New("the command line of rmq-mcp is needed")
		}
		name := sdk.Package
		if name == liar {
			name += "@" + sdk.Version
		}
		return Program{Argv: append(slices.Clone(self), "driver", name)}, nil
	}
	l, b, err := prepare(sdk)
	if err != nil {
		return Program{}, err
	}
	if progress != nil {
		b.say = func(text string) { progress(sdk.String() + ": " + text) }
	}
	return b.provide(ctx, cacheIn(cacheDir), l.build)
}

// prepare has all that a driver is made of.
func prepare(sdk SDK) (Library, build, error) {
	l, err := libraryOf(sdk)
	if err != nil {
		return Library{}, build{}, err
	}
	b, err := newBuild(l, sdk)
	if err != nil {
		return Library{}, build{}, err
	}
	return l, b, b.readLock()
}

// provide makes the driver, where that has not been done yet.
func (b build) provide(ctx context.Context, c cache, t toolchain) (Program, error) {
	name, err := b.name(t.identity(ctx))
	if err != nil {
		return Program{}, err
	}
	b.downloads = c.downloads(b.sdk.Lang)
	dir, err := c.once(ctx, name, func(dir, temp string) error {
		if missing := t.missing(ctx, b.sdk); missing != "" {
			return &Unsupported{b.sdk, missing}
		}
		release, err := c.fill(ctx, b.sdk.Lang)
		if err != nil {
			return err
		}
		defer release()
		b.dir, b.temp = dir, temp
		return t.make(ctx, b)
	})
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w; %s", err, install.DiskFull)
	}
	if err != nil {
		return Program{}, err
	}
	program := t.program(dir, b.sdk)
	program.hold = lockOf(dir)
	return program, nil
}

func libraryOf(sdk SDK) (Library, error) {
	for _, l := range Libraries() {
		if l.Lang == sdk.Lang && l.Package == sdk.Package {
			if l.build == nil {
				return Library{}, errors.New("its driver is in rmq-mcp itself")
			}
			return l, nil
		}
	}
	return Library{}, errors.New("it is not in the catalogue")
}
