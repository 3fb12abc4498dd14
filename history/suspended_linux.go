package history

import (
	"time"

	"golang.org/x/sys/unix"
)

// Suspended is how long the host has been suspended since it started. The run's clock
// stands still meanwhile, and clocks of the day go on.
func Suspended() time.Duration {
	var t unix.Timespec
	// It cannot fail: the clock exists and t is writable.
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
	return time.Duration(t.Nano() - MonotonicNow())
}
