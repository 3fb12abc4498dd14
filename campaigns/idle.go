package campaigns

import (
	"context"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// IdleProcessors is how many of this machine's processors nobody used over a
// short time. Where the system does not tell, it is all of them.
func IdleProcessors(ctx context.Context, over time.Duration) float64 {
	all := float64(runtime.NumCPU())
	idle, total, ok := processorTimes()
	if !ok {
		return all
	}
	select {
	case <-time.After(over):
	case <-ctx.Done():
		return all
	}
	idleThen, totalThen, _ := processorTimes()
	if totalThen <= total {
		return all
	}
	return all * (idleThen - idle) / (totalThen - total)
}

// processorTimes are the idle and the whole time of all processors since boot:
// proc_stat(5).
func processorTimes() (idle, total float64, ok bool) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, false
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil || i > 8 { // guest time, at the end, is in user time too
			continue
		}
		total += n
		if i == 4 || i == 5 { // idle, iowait
			idle += n
		}
	}
	return idle, total, total > 0
}
