package cluster

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// outOfMemory reports whether the kernel's log says that its memory killer ended
// a process that was born at a tick since the boot. Where the log is not ours to
// read it does not.
func outOfMemory(pid int, born uint64) bool {
	log := make([]byte, 1<<20)
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, log)
	return err == nil && killedForMemory(string(log[:n]), pid, float64(born)/ticks)
}

// ticks are those of /proc in a second (USER_HZ).
const ticks = 100

// killedForMemory looks for a line "[  12.345678] Memory cgroup out of memory:
// Killed process 42 (name) …" of a time, in seconds since the boot, or later.
func killedForMemory(log string, pid int, since float64) bool {
	for line := range strings.Lines(log) {
		_, line, _ := strings.Cut(line, "[") // its level is before that
		var at float64
		if fmt.Sscanf(line, "%f]", &at); at < since {
			continue
		}
		if strings.Contains(line, "ut of memory: Killed process "+fmt.Sprint(pid)+" ") {
			return true
		}
	}
	return false
}
