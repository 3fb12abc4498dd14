package cluster

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// outOfMemory reports whether the kernel's log says that its memory killer ended
// a process. Where the log is not ours to read it does not.
func outOfMemory(p *process) bool {
	log := make([]byte, 1<<20)
	n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, log)
	v := victim{pid: p.pid, name: p.name, born: float64(p.born) / ticks, over: p.over}
	if !firstNamespace() {
		v.pid = 0
	}
	return err == nil && killedForMemory(string(log[:n]), v)
}

// ticks are those of /proc in a second (USER_HZ).
const ticks = 100

// sinceBoot is the time in the kernel's log, in seconds.
func sinceBoot() float64 {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano()).Seconds()
}

// firstNamespace reports whether this process counts processes as the kernel's log does.
func firstNamespace() bool {
	const first = "pid:[4026531836]" // PROC_PID_INIT_INO of the kernel
	is, err := os.Readlink("/proc/self/ns/pid")
	return err == nil && is == first
}

// A victim is a process that may have been killed. Its pid is 0 where the kernel's log has
// another number for it.
type victim struct {
	pid        int
	name       string
	born, over float64 // in seconds since the boot
}

// Bounds of how the log and a process know a process. Nobody corrects the log's clock, and
// a process is waited for late where there is no memory.
const (
	nameBytes = 15   // TASK_COMM_LEN, and a zero
	waited    = 60.  // seconds from the line to the end of the process
	drift     = 1e-4 // of the time since the boot
)

// killedForMemory looks for a line "[  12.345678] Memory cgroup out of memory: Killed
// process 42 (name) …". It is of the process if it has its pid and is no older than it is.
// Without a pid it must have its name, and a time near its end.
func killedForMemory(log string, v victim) bool {
	since, until, who := v.born-drift*v.born, math.Inf(1), fmt.Sprintf("%d ", v.pid)
	if v.pid == 0 {
		near := waited + drift*v.over
		since, until = max(since, v.over-near), v.over+near
		who = fmt.Sprintf("(%s)", v.name[:min(len(v.name), nameBytes)])
	}
	for line := range strings.Lines(log) {
		_, line, _ := strings.Cut(line, "[") // its level is before that
		var at float64
		if fmt.Sscanf(line, "%f]", &at); at < since || at > until {
			continue
		}
		_, killed, ok := strings.Cut(line, "ut of memory: Killed process ")
		if v.pid == 0 {
			_, killed, _ = strings.Cut(killed, " ")
		}
		if ok && strings.HasPrefix(killed, who) {
			return true
		}
	}
	return false
}
