//go:build !linux && !darwin

package journal

import "time"

var processStart = time.Now()

// monotonicNow is the time since this process started, in nanoseconds.
func monotonicNow() int64 { return int64(time.Since(processStart)) }
