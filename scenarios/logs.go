package scenarios

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/keeper"
)

// logs are the nodes' lines as they were read, the first ones up to a bound,
// for looking at while the experiment goes on. The files are the evidence.
type logs struct {
	e     *Experiment
	mu    sync.Mutex
	lines []keeper.LogLine
	count map[string]int // lines of each node's log so far
	stop  context.CancelFunc
	read  <-chan struct{} // closed when the last line was read
}

const logLinesKept = 200_000

var (
	panicLine = regexp.MustCompile(`\bpanicked at\b|^panic: |^fatal error: |\[signal SIGSEGV|has overflowed its stack`)
	levelWord = regexp.MustCompile(`(?i)\b(trace|debug|info|notice|warn|warning|error|fatal|critical)\b|\[(TRC|DBG|INF|WRN|ERR|FTL)\]`)
)

func followLogs(e *Experiment) *logs {
	ctx, cancel := context.WithCancel(context.Background())
	l := &logs{e: e, stop: cancel, count: map[string]int{}}
	l.read = e.cluster.Follow(ctx, l.line)
	return l
}

// close returns when all that the nodes wrote was read: a node may panic as it
// ends.
func (l *logs) close() {
	l.stop()
	<-l.read
}

func (l *logs) line(node, text string, at time.Time) {
	when := l.e.clock.Now()
	l.mu.Lock()
	if len(l.lines) < logLinesKept {
		l.lines = append(l.lines, keeper.LogLine{Node: node, At: when.Seconds(), Level: level(text), Text: text})
	}
	l.count[node]++
	n := l.count[node]
	l.mu.Unlock()
	if panicLine.MatchString(text) {
		ev := harnessEvent(when, history.KindObserve, history.ObservePanic)
		ev.Node, ev.Value = l.e.nodeIndex(node), float64(n)
		l.e.rec.Record(ev)
		l.e.say(fmt.Sprintf("%s panicked: %s", node, text))
	}
}

// level of a line, by the first word in it that names one; "" for none.
func level(text string) string {
	m := levelWord.FindString(text[:min(len(text), 120)])
	switch strings.ToLower(strings.Trim(m, "[]")) {
	case "trace", "trc", "debug", "dbg":
		return "debug"
	case "info", "inf", "notice":
		return "info"
	case "warn", "warning", "wrn":
		return "warn"
	case "error", "err", "fatal", "ftl", "critical":
		return "error"
	}
	return ""
}

// rank orders levels; a line without one counts as info.
func rank(level string) int {
	if i := slices.Index([]string{"debug", "info", "warn", "error"}, level); i >= 0 {
		return i
	}
	return 1
}

// Logs answers the lines that match, the first ones of the range, with a
// cursor for more.
func (e *Experiment) Logs(_ context.Context, q keeper.Logs) (keeper.LogLines, error) {
	out := keeper.LogLines{Lines: []keeper.LogLine{}, Levels: map[string]int{}}
	if !e.ready.Load() {
		return out, fmt.Errorf("get_logs: the cluster has not started yet; call cluster_status")
	}
	if q.Level != "" && !slices.Contains([]string{"debug", "info", "warn", "error"}, q.Level) {
		return out, fmt.Errorf("get_logs: no level %q; valid are debug, info, warn, error", q.Level)
	}
	match, err := regexp.Compile(q.Match)
	if err != nil {
		return out, fmt.Errorf("get_logs: match is no regular expression: %w", err)
	}
	from := 0
	if q.After != "" {
		if from, err = strconv.Atoi(q.After); err != nil || from < 0 {
			return out, fmt.Errorf("get_logs: after %q is no cursor of an earlier answer", q.After)
		}
	}
	l := e.logs
	l.mu.Lock()
	defer l.mu.Unlock()
	limit, shown := max(q.Limit, 1), -1
	for i, line := range l.lines {
		if line.At < q.FromS || q.ToS > 0 && line.At > q.ToS || q.Node != "" && line.Node != q.Node {
			continue
		}
		if q.Level != "" && rank(line.Level) < rank(q.Level) || !match.MatchString(line.Text) {
			continue
		}
		out.Total++
		out.Levels[line.Level]++
		if i < from {
			continue
		}
		if len(out.Lines) >= limit {
			if out.Next == "" {
				out.Next = strconv.Itoa(i)
			}
			continue
		}
		lo, hi := max(shown+1, i-q.Context), min(len(l.lines)-1, i+q.Context)
		for j := lo; j <= hi; j++ {
			if j == i || l.lines[j].Node == line.Node {
				out.Lines = append(out.Lines, l.lines[j])
			}
		}
		shown = max(shown, hi)
	}
	return out, nil
}
