package checker

import (
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// calm returns the longest stretch between two times in which no fault was in place that
// concerns a process. A broker that a fault disturbed may need all its time again after
// the heal.
func (l *ledger) calm(process int32, from, until int64) (longest int64) {
	for _, w := range l.windowsOf(process) {
		longest = max(longest, min(until, int64(w.Start))-from)
		from = max(from, int64(w.End))
	}
	return max(longest, until-from)
}

// windowsOf returns the times of the faults that concern a process: all but those on
// another client.
func (l *ledger) windowsOf(process int32) []history.Window {
	return history.Windows(slices.DeleteFunc(slices.Clone(l.landings), func(f history.Landing) bool {
		name, _ := history.ClientTarget(f.Target)
		return name != "" && name != l.process(process) && name != fmt.Sprint(process)
	}))
}
