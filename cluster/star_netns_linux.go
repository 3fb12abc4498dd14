package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
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
