//go:build unix

package cluster

import (
	"fmt"
	"sync"
	"syscall"
)

// usualFiles is the most that nodes are given. Some programs have a table of as many
// entries as they may open files.
const usualFiles = 1 << 20

// shareFiles has the processes that this one starts from now on inherit its limit of open
// files, and returns it; "" where there is none. A shell gives 1024 or fewer, under which
// brokers do not run: whoever operates them raises it first, as RobustMQ's bin/robust-server
// does. The Go runtime has raised it to the hard limit, but hands the old one to children
// until somebody calls [syscall.Setrlimit].
var shareFiles = sync.OnceValues(func() (string, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return "", fmt.Errorf("read the limit of open files: %w", err)
	}
	limit.Cur = min(limit.Cur, usualFiles)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return "", fmt.Errorf("set the limit of open files to %d: %w", limit.Cur, err)
	}
	return fmt.Sprint(limit.Cur), nil
})
