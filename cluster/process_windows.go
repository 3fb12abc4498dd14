package cluster

import (
	"fmt"
	"os"
	"syscall"

	"github.com/robustmq/rmq-mcp/history"
)

// Windows has no signals: a process can be ended by closing its standard
// input, where it minds that, and killed.
const (
	sigFreeze = syscall.Signal(19)
	sigThaw   = syscall.Signal(18)
	sigEnd    = syscall.SIGTERM
	sigKill   = syscall.SIGKILL
)

func (p *process) signal(sig syscall.Signal) error {
	switch {
	case sig == sigKill:
		running, err := os.FindProcess(p.pid)
		if err != nil {
			return fmt.Errorf("open process %d: %w", p.pid, err)
		}
		defer running.Release()
		return running.Kill()
	case sig == sigEnd && p.stdin != nil:
		return p.stdin.Close()
	}
	return fmt.Errorf("signal %d to process %d: %w", sig, p.pid, ErrUnsupported)
}

func startTime(int) uint64 { return 0 }

func osState(int) (string, error) { return history.StateRunning, nil }
