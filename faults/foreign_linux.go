package faults

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// thaw continues a process if it is still the same one.
func thaw(layer string, pid int, start uint64, boot string) (string, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return layer + ": it is gone", nil
	}
	if err != nil {
		return "", fmt.Errorf("open process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if strings.TrimSpace(string(id)) != boot || startedAt(pid) != start {
		return layer + ": it is gone, and its pid is another's", nil
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGCONT, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return "", fmt.Errorf("continue process %d: %w", pid, err)
	}
	return layer + ": continued", nil
}

// startedAt is field 22 of /proc/PID/stat; 0 when there is no such process.
func startedAt(pid int) uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 20 {
		return 0
	}
	start, _ := strconv.ParseUint(fields[19], 10, 64)
	return start
}
