package reports

import (
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/secret"
)

// A FaultLog is what one node logged around one fault.
type FaultLog struct {
	Fault string    `json:"fault"`
	Node  string    `json:"node"`
	Log   string    `json:"log"`            // relative to the run directory
	Lines []LogLine `json:"lines"`          // warnings and errors; any line if there are none and the node is a target
	More  int64     `json:"more,omitempty"` // further lines of the same kind
}

// A LogLine is a line of a node's log.
type LogLine struct {
	Number int    `json:"line"` // counted from 1
	AtNS   int64  `json:"at_ns"`
	Level  string `json:"level"`
	Text   string `json:"text"`
}

// Bounds of the lines around faults.
const (
	aroundFault    = time.Second // before a fault begins and after it is healed
	mostFaultLogs  = 10          // faults
	mostFaultLines = 12          // lines of a node around a fault
	mostFaultLine  = 300         // characters of a line
)

// faultLogs collects the lines around the faults of a run.
type faultLogs struct {
	started time.Time
	faults  []history.Landing
	list    []FaultLog
	scrub   *secret.Scrubber
}

// newFaultLogs asks for the lines around the first faults of a run. Lines have the clocks of
// the nodes, so there are none if a fault changed the clock of a node.
func newFaultLogs(run *history.Run, landings []history.Landing) *faultLogs {
	f := &faultLogs{started: run.Started, scrub: secret.New()}
	for _, l := range landings {
		if l.MovesClock() {
			return &faultLogs{}
		}
		if l.Times.AppliedNS > 0 && len(f.faults) < mostFaultLogs {
			f.faults = append(f.faults, l)
		}
	}
	return f
}

// A nearLog is what a node logs around one fault, while its log is read.
type nearLog struct {
	from, to   time.Duration
	target     bool
	bad, any   []LogLine
	bads, anys int64
}

func (n nearLog) has(at time.Duration) bool { return at >= n.from && (n.to == 0 || at <= n.to) }

func (n *nearLog) take(line LogLine) {
	add := func(list *[]LogLine, count *int64) {
		if *count++; len(*list) < mostFaultLines {
			*list = append(*list, line)
		}
	}
	add(&n.any, &n.anys)
	if line.Level == loglines.Error || line.Level == loglines.Warn {
		add(&n.bad, &n.bads)
	}
}

// of takes the lines of a node's log. A line without a time follows the one before it, and is
// not looked at.
func (f *faultLogs) of(node, log string) (line func(n int, text string), end func()) {
	near := make([]nearLog, len(f.faults))
	for i, l := range f.faults {
		near[i] = nearLog{from: time.Duration(l.Times.StartNS()) - aroundFault, target: slices.Contains(l.Nodes, node)}
		if l.Times.HealedNS > 0 {
			near[i].to = time.Duration(l.Times.HealedNS) + aroundFault
		}
	}
	line = func(n int, text string) {
		if len(near) == 0 {
			return
		}
		stamp, ok := loglines.Time(text)
		at := stamp.Sub(f.started)
		if !ok || !slices.ContainsFunc(near, func(one nearLog) bool { return one.has(at) }) {
			return
		}
		one := LogLine{Number: n, AtNS: int64(at), Level: loglines.Level(text), Text: plain.Cut(f.scrub.Text(text), mostFaultLine)}
		for i := range near {
			if near[i].has(at) {
				near[i].take(one)
			}
		}
	}
	return line, func() {
		for i, l := range f.faults {
			out := FaultLog{Fault: l.Fault, Node: node, Log: log, Lines: near[i].bad, More: near[i].bads - int64(len(near[i].bad))}
			if len(out.Lines) == 0 && near[i].target {
				out.Lines, out.More = near[i].any, near[i].anys-int64(len(near[i].any))
			}
			if len(out.Lines) > 0 {
				f.list = append(f.list, out)
			}
		}
	}
}

// around are the lines that nodes logged around a fault.
func (r *Report) around(fault string) (list []FaultLog) {
	for _, l := range r.FaultLogs {
		if l.Fault == fault {
			list = append(list, l)
		}
	}
	return list
}
