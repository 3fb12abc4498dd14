package clients

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"time"

	psnet "github.com/shirou/gopsutil/v3/net"
	psutil "github.com/shirou/gopsutil/v3/process"

	"github.com/robustmq/rmq-mcp/history"
)

// A Place starts drivers' processes.
type Place interface {
	// Start starts a command, takes over its input and output, and closes them.
	Start(cmd *exec.Cmd, in, out *os.File) (Process, error)
}

// A Process is a driver's, where it runs.
type Process interface {
	// Wait waits for its end and its output, and returns the error of [exec.Cmd.Wait].
	Wait() error
	// Kill ends it by SIGKILL. A process that has ended is no error.
	Kill() error
	// Freeze stops every thread of it, or lets them continue.
	Freeze(stop bool) error
	// State is running or frozen.
	State() (string, error)
	// Connections counts its established TCP connections.
	Connections() (int, error)
	// Stood is the longest time since the last call for which its machine ran nothing; 0 for this machine.
	Stood() time.Duration
	// Ahead is how far CLOCK_MONOTONIC of its machine is ahead of this machine's, and the bound of
	// the error; 0 and 0 for this machine.
	Ahead() (ahead, within time.Duration)
}

// A Host starts processes on this machine.
type Host interface {
	Start(*exec.Cmd) error
}

// Here is the place of a host of this machine. A nil host is the machine as it is.
func Here(h Host) Place { return here{h} }

type here struct{ host Host }

func (h here) Start(cmd *exec.Cmd, in, out *os.File) (Process, error) {
	cmd.Stdin, cmd.Stdout = in, out
	defer in.Close()
	defer out.Close()
	if h.host == nil {
		return child{cmd}, cmd.Start()
	}
	return child{cmd}, h.host.Start(cmd)
}

// A child is a process of this machine.
type child struct{ *exec.Cmd }

func (c child) Kill() error {
	if err := c.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (c child) Freeze(stop bool) error { return freeze(c.Process, stop) }

func (c child) State() (string, error) {
	p, err := psutil.NewProcess(int32(c.Process.Pid))
	if err != nil {
		return "", err
	}
	status, err := p.Status()
	if err != nil {
		return "", err
	}
	if slices.Contains(status, psutil.Stop) {
		return history.StateFrozen, nil
	}
	return history.StateRunning, nil
}

func (c child) Connections() (n int, err error) {
	all, err := psnet.ConnectionsPid("tcp", int32(c.Process.Pid))
	for _, conn := range all {
		if conn.Status == "ESTABLISHED" {
			n++
		}
	}
	return n, err
}

func (child) Stood() time.Duration { return 0 }

func (child) Ahead() (ahead, within time.Duration) { return 0, 0 }
