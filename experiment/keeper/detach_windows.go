package keeper

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// Detach gives a command a process group and a console of its own: no
// console's end and no Ctrl-C of its starter reaches it.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW,
	}
}
