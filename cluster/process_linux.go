package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/robustmq/rmq-mcp/history"
	"golang.org/x/sys/unix"
)

// Signals that change a process's state. A node is paused by SIGSTOP, which
// the death of the keeper's namespaces ends together with the process.
const (
	sigFreeze = unix.SIGSTOP
	sigThaw   = unix.SIGCONT
	sigEnd    = unix.SIGTERM
	sigKill   = unix.SIGKILL
)

// signal sends sig by a descriptor of the process, after looking that it is
// still the one that was started.
func (p *process) signal(sig syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return fmt.Errorf("open process %d: %w", p.pid, err)
	}
	defer unix.Close(fd)
	if now := startTime(p.pid); now != p.born {
		return fmt.Errorf("process %d was started at %d, not at %d: it is another", p.pid, now, p.born)
	}
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil {
		return fmt.Errorf("send %s to process %d: %w", unix.SignalName(sig), p.pid, err)
	}
	return nil
}

// startTime is field 22 of /proc/PID/stat; 0 when there is no such process.
func startTime(pid int) uint64 {
	fields, err := statFields(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || len(fields) < 20 {
		return 0
	}
	t, _ := strconv.ParseUint(fields[19], 10, 64)
	return t
}

// osState is running or, when every thread is stopped, frozen; "" for a
// process that ended and was not waited for.
func osState(pid int) (string, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return "", err
	}
	stopped, alive := 0, 0
	for _, path := range threads {
		fields, err := statFields(path)
		if err != nil || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		alive++
		if fields[0] == "T" || fields[0] == "t" {
			stopped++
		}
	}
	switch {
	case alive == 0:
		return "", nil
	case stopped == alive:
		return history.StateFrozen, nil
	}
	return history.StateRunning, nil
}

// statFields are the fields of a stat file after the command, which may hold
// blanks and brackets: the first is the state.
func statFields(path string) ([]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(fields) == 0 {
		return nil, fmt.Errorf("read %s: %q is no stat line", path, b)
	}
	return fields, nil
}
