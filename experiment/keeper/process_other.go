//go:build !linux

package keeper

import (
	"errors"
	"fmt"
	"os"

	"github.com/shirou/gopsutil/v3/process"
)

func thisProcess() (Process, error) { return identify(os.Getpid()) }

// identify answers the process that has the pid now. Its start is in
// milliseconds since 1970, which no later boot repeats.
func identify(pid int) (Process, error) {
	p, err := process.NewProcess(int32(pid))
	if errors.Is(err, process.ErrorProcessNotRunning) {
		return Process{}, os.ErrProcessDone
	}
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	start, err := p.CreateTime()
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return Process{Pid: pid, Start: start}, nil
}

func (p Process) alive() bool {
	now, err := identify(p.Pid)
	return err == nil && now == p
}

func (p Process) kill() error {
	if !p.alive() {
		return nil
	}
	found, err := os.FindProcess(p.Pid)
	if err != nil {
		return fmt.Errorf("find process %d: %w", p.Pid, err)
	}
	if err := found.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill process %d: %w", p.Pid, err)
	}
	return nil
}
