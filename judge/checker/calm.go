package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// A still is a time in which the host kept everything from running, or others kept a
// driver from it.
type still struct {
	from, to int64
	driver   string // of which client; "" for all that is on the host
}

// String says what happened.
func (s still) String() string {
	if s.driver == "" {
		return sentence("the host kept everything from running for %s at %s", clock(s.to-s.from), clock(s.from))
	}
	return sentence("the driver of %s, a process of rmq-mcp, stood still from %s to %s, by no doing of the broker", s.driver, clock(s.from), clock(s.to))
}

// noteStills notes when the host or a driver stood still.
func (l *ledger) noteStills(b *history.Batch, control []int32) {
	for _, i := range control {
		if s := l.stillOf(b, int(i)); s.to > 0 {
			l.stills = append(l.stills, s)
		}
	}
}

// stillOf returns the time that a row says was one, none where it says none.
func (l *ledger) stillOf(b *history.Batch, i int) still {
	if b.Kind[i] != history.KindObserve || b.Node[i] != history.None {
		return still{}
	}
	s := still{from: b.Time[i] - int64(b.Value[i]*1e9), to: b.Time[i]}
	switch text := b.Text(i); {
	case text == history.ObserveStarved && b.Process[i] == history.None:
		return s
	case text == history.ObserveDriverStill:
		s.driver = l.process(b.Process[i])
		return s
	}
	return still{}
}

// still returns the place of the first time in which the host or a driver stood still at
// any time between two, -1 for none.
func (l *ledger) still(from, to int64) int {
	return slices.IndexFunc(l.stills, func(s still) bool { return s.from < to && from <= s.to })
}

// noteExit notes when the process of a node first ended by no doing of the broker or of
// ours: what it had may be nowhere else, and none of ours starts it again.
func (l *ledger) noteExit(e exit) {
	if e.cause == byKernel || e.cause == byStranger || e.cause == byNobody {
		l.firstExit = min(l.firstExit, e.at)
	}
}

// stood returns how long the host or a driver stood still between two times.
func (l *ledger) stood(from, to int64) (ns int64) {
	for _, s := range l.stills {
		ns += max(0, min(s.to, to)-max(s.from, from))
	}
	return ns
}

// calm returns the longest stretch between two times without a fault that concerns a
// process. Time in which the host stood still does not count, nor does any after a node's
// process was ended by others. A broker that a fault disturbed may need all its time again
// after the heal.
func (l *ledger) calm(process int32, from, until int64) (longest int64) {
	until = min(until, l.firstExit)
	for _, w := range l.windowsOf(process) {
		longest = max(longest, l.ran(from, min(until, int64(w.Start))))
		from = max(from, int64(w.End))
	}
	return max(longest, l.ran(from, until))
}

// ran returns how long the host ran between two times.
func (l *ledger) ran(from, to int64) int64 { return max(0, to-from-l.stood(from, to)) }

// windowsOf returns the times of the faults that concern a process.
func (l *ledger) windowsOf(process int32) []history.Window {
	return history.Windows(history.Concerning(l.landings, process, l.tables.Processes[process]))
}

// overlap reports whether a fault was in place at any time between two.
func overlap(windows []history.Window, from, to int64) bool {
	return slices.ContainsFunc(windows, func(w history.Window) bool { return int64(w.Start) <= to && from <= int64(w.End) })
}
