//go:build !linux

package cluster

import "os/exec"

// dieWithParent has nothing to hold on to here; nodes that can, end when
// their standard input does.
func dieWithParent(*exec.Cmd) {}

// outgoingPorts is where the systems other than Linux begin, at 49152, or
// below it where they were told to.
func outgoingPorts() int { return 32768 }
