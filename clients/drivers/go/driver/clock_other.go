//go:build !linux && !darwin

package driver

import "time"

// clockName is the clock of monotonic, in the contract's words.
const clockName = "process"

var origin = time.Now()

// monotonic is the time since this process started, in nanoseconds.
func monotonic() int64 { return int64(time.Since(origin)) }
