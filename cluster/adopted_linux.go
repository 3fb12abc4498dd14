package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	psnet "github.com/shirou/gopsutil/v3/net"
	"golang.org/x/sys/unix"
)

// adoptProcess is a process that somebody else started, and that listens at an endpoint: a
// number alone may be another process's by now. That it ends is noticed; how is told to its
// parent alone.
func adoptProcess(pid int, endpoint string) (*process, error) {
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
	if err := listens(pid, endpoint); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%w, so it may be another program; name the pid of the broker (ss -ltnp), or the container of a broker behind a proxy", err)
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

// listens is an error if a process has no socket that listens at an endpoint. A broker
// behind a proxy or a translation of addresses has none either.
func listens(pid int, endpoint string) error {
	host, service, err := net.SplitHostPort(endpoint)
	if err != nil {
		return err
	}
	port, err := net.LookupPort("tcp", service)
	if err != nil {
		return err
	}
	at, err := net.LookupIP(cmp.Or(host, "localhost"))
	if err != nil {
		return err
	}
	sockets, err := psnet.ConnectionsPid("tcp", int32(pid))
	if err != nil {
		return fmt.Errorf("see whether process %d listens at %s: %w; run as its user or as root", pid, endpoint, err)
	}
	for _, s := range sockets {
		ip := net.ParseIP(s.Laddr.IP)
		if s.Status == "LISTEN" && int(s.Laddr.Port) == port && (ip.IsUnspecified() || slices.ContainsFunc(at, ip.Equal)) {
			return nil
		}
	}
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return fmt.Errorf("process %d (%s) does not listen at %s", pid, strings.TrimSpace(string(name)), endpoint)
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
