package hosttest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// HolderEnv is set in a test binary that runs alone and in every process that it
// starts. Its value names the program that holds the lock. A process that still has
// it when the tests are over was left behind.
const HolderEnv = "RMQ_TEST_HOLDER"

// named is how the file that names the holder ends.
const named = ".holder"

// Alone runs the tests of a package that starts brokers, faults, containers or
// virtual machines, and answers the code to exit with. One such package at a
// time runs on a machine: what one measures, another would disturb. The others
// wait, and say for whom.
//
//	func TestMain(m *testing.M) { os.Exit(hosttest.Alone(m)) }
func Alone(m *testing.M) int {
	if os.Getenv(HolderEnv) != "" {
		return m.Run() // the test that started this copy holds the lock
	}
	holder := fmt.Sprintf("%s (pid %d)", filepath.Base(os.Args[0]), os.Getpid())
	release, err := lock(context.Background(), filepath.Join(os.TempDir(), "rmq-mcp-tests.lock"), holder)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer release()
	os.Setenv(HolderEnv, holder)
	return m.Run()
}

// Waiting lets more tests of a package run side by side than there are cores, as they
// mostly wait. A -parallel on the command line prevails.
func Waiting() {
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.NumCPU())); err != nil {
		panic(err)
	}
}

// lock takes the lock file for a holder and names the holder in a file beside it, for
// those who wait. A separate file is needed because some systems let nobody read a
// locked one. The system releases the lock when the holder ends, however it ends.
func lock(ctx context.Context, path, holder string) (release func(), err error) {
	// Made apart from locking: where everybody may write, as in /tmp, Linux opens
	// another user's file only without O_CREATE (fs.protected_regular).
	if made, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o644); err == nil {
		made.Close()
	}
	f := flock.New(path, flock.SetFlag(os.O_RDONLY))
	held, err := f.TryLock()
	if err == nil && !held {
		other, _ := os.ReadFile(path + named)
		fmt.Fprintf(os.Stderr, "%s waits for %s, which holds %s\n", holder, other, path)
		_, err = f.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s, so that one package with real brokers is tested at a time: %w", path, err)
	}
	// For those who wait, and nothing else: where another user's is left behind,
	// they are told of that one.
	os.WriteFile(path+named, []byte(holder), 0o644)
	return func() {
		os.Remove(path + named)
		f.Unlock()
	}, nil
}
