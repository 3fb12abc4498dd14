package cluster

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"golang.org/x/sys/unix"
)

// adoptProcess is a process that somebody else started. That it ends is
// noticed; how is told to its parent alone.
func adoptProcess(pid int) (*process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) { // gone, or a thread
		return nil, fmt.Errorf("there is no process %d; see ps", pid)
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	p := &process{pid: pid, born: startTime(pid), gone: make(chan struct{})}
	if err := unix.PidfdSendSignal(fd, 0, nil, 0); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("process %d cannot be signalled: %w", pid, err)
	}
	if state, err := osState(pid); err != nil || state != history.StateRunning {
		unix.Close(fd)
		return nil, fmt.Errorf("process %d does not run (%s, %v)", pid, state, err)
	}
	go func() {
		defer close(p.gone)
		defer unix.Close(fd)
		for {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
				break
			}
		}
		p.exit = history.StateExited + "in a way that only its parent knows"
	}()
	return p, nil
}

// bootID tells this boot of the machine from others, in which a pid with the
// same start is another process.
func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}
