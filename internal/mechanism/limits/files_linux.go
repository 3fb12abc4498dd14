package limits

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenFiles reads a process's limit of open files and what it has open.
func OpenFiles(pid int) (Files, error) {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit); err != nil {
		return Files{}, fmt.Errorf("read the limit of open files of process %d: %w", pid, err)
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return Files{}, fmt.Errorf("list the open files of process %d: %w", pid, err)
	}
	used := map[uint64]bool{}
	for _, e := range entries {
		if n, err := strconv.ParseUint(e.Name(), 10, 64); err == nil {
			used[n] = true
		}
	}
	free := func(spare int) uint64 {
		n := uint64(0)
		for ; used[n] || spare > 0; n++ {
			if !used[n] {
				spare--
			}
		}
		return n
	}
	return Files{Soft: limit.Cur, Hard: limit.Max, Free: free, Open: len(used)}, nil
}

// SetSoftFiles changes the soft limit and leaves the hard one: that could be
// lowered but not always be raised again.
func SetSoftFiles(pid int, soft uint64) error {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit)
	if err == nil {
		limit.Cur = min(soft, limit.Max)
		err = unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil)
	}
	if err != nil {
		return fmt.Errorf("set the limit of open files of process %d to %d: %w", pid, soft, err)
	}
	return nil
}

// CountTasks are the threads of a process.
func CountTasks(pid int) (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0, fmt.Errorf("count the threads of process %d: %w", pid, err)
	}
	return len(entries), nil
}
