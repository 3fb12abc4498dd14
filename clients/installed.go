package clients

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// States of an SDK on a machine.
const (
	StateBuiltin      = "built in"      // its driver is in this binary
	StateInstalled    = "installed"     // its driver was made
	StateNotInstalled = "not installed" // it is made on first use
	StateUnsupported  = "unsupported"   // it cannot be made here
)

// A Status is how an SDK stands on this machine.
type Status struct {
	SDK
	State   string `json:"state"`
	Missing string `json:"missing,omitempty"` // unsupported: what the machine lacks, and the line that installs it
}

// Ready reports whether its driver can be started at once.
func (s Status) Ready() bool { return s.State == StateBuiltin || s.State == StateInstalled }

// Look looks how SDKs stand, in their order. It makes nothing.
func Look(ctx context.Context, cacheDir string, sdks []SDK) []Status {
	ctx = askingOnce(ctx)
	all := make([]Status, len(sdks))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, sdk := range sdks {
		g.Go(func() error {
			all[i] = look(ctx, cacheIn(cacheDir), sdk)
			return nil
		})
	}
	g.Wait()
	return all
}

func look(ctx context.Context, c cache, sdk SDK) Status {
	s := Status{SDK: sdk, State: StateBuiltin}
	if sdk.Builtin {
		return s
	}
	l, b, err := prepare(sdk)
	if err == nil {
		if s.State, err = b.state(ctx, c, l.build); err == nil {
			return s
		}
	}
	s.State, s.Missing = StateUnsupported, err.Error()
	return s
}

func (b build) state(ctx context.Context, c cache, t toolchain) (string, error) {
	name, err := b.name(t.identity(ctx))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(c.dir, name)); err == nil {
		return StateInstalled, nil
	}
	if missing := t.missing(ctx, b.sdk); missing != "" {
		return "", errors.New(missing)
	}
	return StateNotInstalled, nil
}

// An Installation is what became of one SDK.
type Installation struct {
	SDK  SDK
	Took time.Duration
	Err  error // Unsupported, or why the driver could not be made
}

// Install provisions SDKs, as many at a time as there are processors, and calls
// done with each as it is finished, one at a time. One that fails does not keep
// the others. progress may be nil; it is called from many goroutines.
func Install(ctx context.Context, cacheDir string, self []string, sdks []SDK, progress func(string), done func(Installation)) {
	var one sync.Mutex
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, sdk := range sdks {
		g.Go(func() error {
			began := time.Now()
			_, err := Provision(ctx, cacheDir, self, sdk, progress)
			one.Lock()
			defer one.Unlock()
			done(Installation{sdk, time.Since(began), err})
			return nil
		})
	}
	g.Wait()
}
