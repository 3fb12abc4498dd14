package experiment

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/loglines"
)

// logs are the nodes' lines as they were read, the first ones up to a bound,
// for looking at while the experiment goes on. The files are the evidence.
type logs struct {
	record *record
	index  func(node string) int16 // into the tables
	mu     sync.Mutex
	lines  []loglines.Line
	panics map[string]*loglines.PanicReader // of each node's log
	count  map[string]int                   // lines of each node's log so far
	stop   context.CancelFunc
	read   <-chan struct{} // closed when the last line was read
}

const logLinesKept = 200_000

func followLogs(r *record, c *cluster.Cluster, index func(node string) int16) *logs {
	ctx, cancel := context.WithCancel(context.Background())
	l := &logs{record: r, index: index, stop: cancel, panics: map[string]*loglines.PanicReader{}, count: map[string]int{}}
	l.read = c.Follow(ctx, l.line)
	return l
}

// close returns when all that the nodes wrote was read: a node may panic as it
// ends.
func (l *logs) close() {
	l.stop()
	<-l.read
}

func (l *logs) line(node, text string, at time.Time) {
	when := l.record.clock.Now()
	l.mu.Lock()
	if len(l.lines) < logLinesKept {
		l.lines = append(l.lines, loglines.Line{Node: node, At: when.Seconds(), Level: loglines.Level(text), Text: text})
	}
	l.count[node]++
	n := l.count[node]
	if l.panics[node] == nil {
		l.panics[node] = &loglines.PanicReader{}
	}
	panicked := l.panics[node].Take(text)
	l.panics[node].Drain() // the log keeps them
	l.mu.Unlock()
	if panicked {
		ev := harnessEvent(when, history.KindObserve, history.ObservePanic)
		ev.Node, ev.Value = l.index(node), float64(n)
		l.record.rec.Record(ev)
		l.record.say(fmt.Sprintf("%s panicked: %s", node, text))
	}
}

// Logs returns the lines that match, the first ones of the range, with a cursor for
// more.
func (e *Experiment) Logs(_ context.Context, q keeper.Logs) (keeper.LogLines, error) {
	if _, err := e.started(); err != nil {
		return keeper.LogLines{}, fmt.Errorf("get_logs: %w", err)
	}
	page, err := loglines.NewPage(q.Query)
	if err != nil {
		return keeper.LogLines{}, fmt.Errorf("get_logs: %w", err)
	}
	e.logs.mu.Lock()
	defer e.logs.mu.Unlock()
	for _, line := range e.logs.lines {
		page.Take(line)
	}
	return keeper.LogLines{Lines: page.Lines, Total: page.Total, Levels: page.Levels, Next: page.Next}, nil
}
