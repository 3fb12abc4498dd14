//go:build !linux

package keeper

import "os/exec"

// levels: without namespaces a keeper is a plain child, which ends its own
// children when the pipe from its guard does, and whose children the guard
// ends when the pipe to it does.
func levels(isolation string) []level {
	switch isolation {
	case "", IsolationLoopback:
		return []level{{isolation: IsolationLoopback}}
	case IsolationHost:
		return []level{{isolation: IsolationHost}}
	}
	return nil
}

func dieWithParent(*exec.Cmd) {}
func adoptOrphans() error     { return nil }
func killOrphans() error      { return nil }
