//go:build unix

package keeper

import (
	"os/exec"
	"syscall"
)

// detach gives a command a session of its own: no terminal's end and no
// signal to its starter's group reaches it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
