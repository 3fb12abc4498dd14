//go:build !linux && !darwin

package history

import "time"

// processStart is the origin where the system has no clock that processes
// share; drivers there report an origin of their own.
var processStart = time.Now()

// MonotonicNow is the monotonic time since this process started, in
// nanoseconds.
func MonotonicNow() int64 { return int64(time.Since(processStart)) }
