package clock

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Hide gives the calling process, which must be the first of its namespaces,
// and all it starts a /dev/shm of their own: nothing that a killed process
// leaves there outlives the namespaces, and the same process number in another
// namespace does not meet it. Elsewhere it does nothing.
func Hide() error {
	if os.Getpid() != 1 {
		return nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("read the mounts: %w", err)
	}
	if strings.Contains(string(mounts), " - tmpfs "+hidden+" ") {
		return nil
	}
	if err := unix.Mount(hidden, "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=64m,mode=1777"); err != nil {
		return fmt.Errorf("mount a /dev/shm of our own: %w", err)
	}
	return nil
}

// hidden is the source of our own /dev/shm, by which it is known.
const hidden = "rmq-mcp-clock"
