// Package install helps to install client libraries and brokers. It locks files between processes,
// and runs package managers and compilers.
package install

import (
	"context"
	"os"
	"time"

	"github.com/gofrs/flock"
)

const lockPoll = 100 * time.Millisecond

// Lock locks a file, which it makes if there is none. It waits for its holders until ctx ends.
func Lock(ctx context.Context, path string) (*flock.Flock, error) {
	return lock(ctx, path, (*flock.Flock).TryLockContext)
}

// RLock locks a file with others that only read.
func RLock(ctx context.Context, path string) (*flock.Flock, error) {
	return lock(ctx, path, (*flock.Flock).TryRLockContext)
}

// lock locks by one of flock's functions. The previous holder may have removed the file. The
// file of that name is then a new one, and is locked instead.
func lock(ctx context.Context, path string, try func(*flock.Flock, context.Context, time.Duration) (bool, error)) (*flock.Flock, error) {
	for {
		lock := flock.New(path)
		if _, err := try(lock, ctx, lockPoll); err != nil {
			lock.Close()
			return nil, err
		}
		locked, err := lock.Stat()
		if err != nil {
			lock.Close()
			return nil, err
		}
		if named, err := os.Stat(path); err == nil && os.SameFile(locked, named) {
			return lock, nil
		}
		lock.Close()
	}
}
