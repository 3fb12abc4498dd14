// Package netns does things inside network namespaces other than the process's
// own, without a thread of this program ever being left in one.
package netns

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// New makes a network namespace that lives as long as the file is open or a
// process is in it.
func New() (ns *os.File, err error) {
	err = onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make network namespace: %w", err)
		}
		ns, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return ns, err
}

// In calls do on a thread that is in the namespace. A socket that do opens belongs to
// the namespace and stays there for good. Goroutines started by do run outside of it.
func In(ns *os.File, do func() error) error {
	return onOwnThread(func() error {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("enter network namespace: %w", err)
		}
		return do()
	})
}

// onOwnThread calls do on a thread that ends with it, so that a namespace it
// entered is never met by other goroutines.
func onOwnThread(do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The main thread does not end, and /proc/self shows its namespace.
			done <- onOwnThread(do)
			runtime.UnlockOSThread()
			return
		}
		done <- do()
	}()
	return <-done
}
