//go:build unix && !linux

package cluster

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"github.com/robustmq/rmq-mcp/history"
)

const (
	sigFreeze = syscall.SIGSTOP
	sigThaw   = syscall.SIGCONT
	sigEnd    = syscall.SIGTERM
	sigKill   = syscall.SIGKILL
)

// signal sends sig. The number is ours until the process was waited for.
func (p *process) signal(sig syscall.Signal) error {
	if err := syscall.Kill(p.pid, sig); err != nil {
		return fmt.Errorf("send %v to process %d: %w", sig, p.pid, err)
	}
	return nil
}

func startTime(int) uint64 { return 0 }

// osState is running or frozen; "" for a process that ended and was not waited
// for.
func osState(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "state=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", fmt.Errorf("read the state of process %d: %w", pid, err)
	}
	switch state := strings.TrimSpace(string(out)); {
	case state == "", strings.HasPrefix(state, "Z"):
		return "", nil
	case strings.HasPrefix(state, "T"):
		return history.StateFrozen, nil
	}
	return history.StateRunning, nil
}
