package history

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Windows returns the times during which faults were in place, in order of their start:
// from the beginning of its application to the heal read back. A fault that was never
// applied has none. A fault that was never seen healed ends with the run.
func Windows(landings []Landing) []Window {
	var windows []Window
	for _, l := range landings {
		if l.Times.AppliedNS == 0 {
			continue
		}
		end := time.Duration(math.MaxInt64)
		if l.Times.HealedNS != 0 {
			end = time.Duration(l.Times.HealedNS)
		}
		windows = append(windows, Window{Fault: l.Fault, Start: time.Duration(l.Times.StartNS()), End: end})
	}
	slices.SortStableFunc(windows, func(a, b Window) int { return cmp.Compare(a.Start, b.Start) })
	return windows
}
