//go:build unix

package clients

import (
	"os"
	"syscall"
)

// freeze stops a process, every thread of it, or lets it go on. The runtime
// signals its own children, never another process of the same number.
func freeze(p *os.Process, stop bool) error {
	if stop {
		return p.Signal(syscall.SIGSTOP)
	}
	return p.Signal(syscall.SIGCONT)
}
