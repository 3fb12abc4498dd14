//go:build linux || darwin

package driver

import "golang.org/x/sys/unix"

// clockName is the clock of monotonic, in the contract's words.
const clockName = "monotonic"

// monotonic reads CLOCK_MONOTONIC, in nanoseconds.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // the clock exists
	return t.Nano()
}
