package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// ownNamespace checks that this process is in a network namespace that was
// made for it.
func ownNamespace() error {
	mine, err := os.Stat("/proc/thread-self/ns/net")
	if err != nil {
		return fmt.Errorf("look at own network namespace: %w", err)
	}
	if parent := os.Getppid(); parent != 0 {
		theirs, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", parent))
		if err == nil && os.SameFile(mine, theirs) {
			return errors.New("a star needs a network namespace of its own, this is the parent's")
		}
	}
	faces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list interfaces: %w", err)
	}
	for _, f := range faces {
		// Tunnel modules put an idle device into every new namespace.
		if f.Flags&net.FlagLoopback == 0 && f.Flags&net.FlagUp != 0 {
			return fmt.Errorf("a star needs a network namespace of its own, this one has %s", f.Name)
		}
	}
	return nil
}

// newNetNS makes a network namespace that lives as long as the file is open or
// a process is in it.
func newNetNS() (ns *os.File, err error) {
	err = onOwnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("make network namespace: %w", err)
		}
		ns, err = os.Open("/proc/thread-self/ns/net")
		return err
	})
	return ns, err
}

// inNetNS calls do on a thread that is in the namespace. What do opens belongs
// to it.
func inNetNS(ns *os.File, do func() error) error {
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
