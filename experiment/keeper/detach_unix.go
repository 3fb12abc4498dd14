//go:build unix

package keeper

import (
	"os/exec"
	"syscall"
)

// Detach gives a command a session of its own: no terminal's end and no
// signal to its starter's group reaches it.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
