//go:build !linux

package cluster

import "fmt"

func adoptProcess(pid int, _ string) (*process, error) {
	return nil, fmt.Errorf("name process %d: %w: only Linux tells a process from a later one with the same pid; name its container", pid, ErrUnsupported)
}

// listens cannot tell who listens.
func listens(int, string) error { return nil }

func bootID() string { return "" }
