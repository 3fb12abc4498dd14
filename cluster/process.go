package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// ErrUnsupported is in the errors of what a flavor or this system cannot do.
var ErrUnsupported = fmt.Errorf("not possible here: %w", errors.ErrUnsupported)

// A process is one that this package started and nobody else waits for, so
// that its number cannot be another's until it was waited for.
type process struct {
	pid   int
	name  string // of its program
	born  uint64 // start time as the kernel counts it; 0 where that is unknown
	stdin io.Closer
	gone  chan struct{} // closed once it was waited for
	exit  string        // how it ended, valid after gone
	over  float64       // when, in seconds since the boot; valid after gone
}

// startProcess starts cmd on a host. With guard its standard input is a pipe
// that ends when this process does.
func startProcess(host Host, cmd *exec.Cmd, guard bool) (*process, error) {
	p := &process{gone: make(chan struct{})}
	if guard {
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		p.stdin = in
	}
	if err := host.Start(cmd); err != nil {
		return nil, err
	}
	p.pid, p.name = cmd.Process.Pid, filepath.Base(cmd.Path)
	p.born = startTime(p.pid)
	go func() {
		defer close(p.gone)
		p.exit = exitOf(cmd, cmd.Wait())
		p.over = sinceBoot()
	}()
	return p, nil
}

func exitOf(cmd *exec.Cmd, err error) string {
	if cmd.ProcessState == nil {
		return fmt.Sprintf("%sunknown (%v)", history.StateExited, err)
	}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return fmt.Sprintf("%ssignal %d (%s)", history.StateExited, ws.Signal(), ws.Signal())
	}
	return fmt.Sprintf("%sstatus %d", history.StateExited, cmd.ProcessState.ExitCode())
}

// String names it in an error.
func (p *process) String() string { return fmt.Sprintf("process %d", p.pid) }

// exited reports whether it is gone.
func (p *process) exited() bool {
	select {
	case <-p.gone:
		return true
	default:
		return false
	}
}

// state is running, frozen, or how it ended.
func (p *process) state(context.Context) (string, error) {
	if p.exited() {
		return p.exit, nil
	}
	state, err := osState(p.pid)
	if err != nil || state != "" {
		return state, err
	}
	select { // it ended and is about to be waited for
	case <-p.gone:
		return p.exit, nil
	case <-time.After(changeBound):
		return "", fmt.Errorf("process %d is not to be seen, and its exit status is not known", p.pid)
	}
}
