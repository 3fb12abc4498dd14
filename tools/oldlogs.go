package tools

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/keeper"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// levels by the words that brokers write for them, the worst first.
var levels = []struct {
	name string
	word *regexp.Regexp
}{
	{"error", regexp.MustCompile(`(?i)\b(error|fatal|critical)\b|\[(ERR|FTL)\]|panicked at|^panic: `)},
	{"warn", regexp.MustCompile(`(?i)\b(warn|warning)\b|\[WRN\]`)},
	{"info", regexp.MustCompile(`(?i)\b(info|notice)\b|\[INF\]`)},
	{"debug", regexp.MustCompile(`(?i)\b(debug|trace)\b|\[(DBG|TRC)\]`)},
}

// levelPrefix is how far into a line its level is looked for.
const levelPrefix = 120

func levelOf(line string) string {
	for _, l := range levels {
		if l.word.MatchString(line[:min(len(line), levelPrefix)]) {
			return l.name
		}
	}
	return "info"
}

// atLeast reports whether a level is as bad as another, or worse.
func atLeast(level, than string) bool {
	rank := func(name string) int {
		for i, l := range levels {
			if l.name == name {
				return i
			}
		}
		return len(levels)
	}
	return rank(level) <= rank(than)
}

// recordedLogs answers from the log files that a finished run left.
func recordedLogs(dir string, q keeper.Logs) (LogsAnswer, error) {
	out := LogsAnswer{RunID: runID(dir), Levels: map[string]int{}}
	if q.FromS > 0 || q.ToS > 0 {
		return out, fmt.Errorf("get_logs: run %s is over, and its lines have only the broker's own clock; leave time_range out and use match, such as the time that a line begins with", out.RunID)
	}
	match, err := regexp.Compile(q.Match)
	if err != nil {
		return out, fmt.Errorf("get_logs: match is no regular expression (RE2): %w", err)
	}
	from, err := strconv.Atoi(q.After)
	if q.After != "" && (err != nil || from < 0) {
		return out, fmt.Errorf("get_logs: after %q is not the next of an earlier answer", q.After)
	}
	files, err := logFiles(dir)
	if err != nil {
		return out, err
	}
	if _, known := files[q.Node]; q.Node != "" && !known {
		return out, noNode(q.Node, sortedKeys(files))
	}
	for _, node := range sortedKeys(files) {
		if q.Node != "" && q.Node != node {
			continue
		}
		if err := out.takeFile(node, files[node], q, match, from); err != nil {
			return out, fmt.Errorf("read the log of %s: %w", node, err)
		}
	}
	return out, nil
}

// mostLogLine is how much of a line is looked at, in bytes.
const mostLogLine = 64 << 10

// takeFile adds the lines of one log that match. A log may be of any size: it is
// read line by line.
func (out *LogsAnswer) takeFile(node, path string, q keeper.Logs, match *regexp.Regexp, from int) error {
	f, err := stored.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	taken, scrub := taking{out: out, node: node, logs: q, match: match, from: from}, secret.New()
	for lines := bufio.NewReaderSize(f, mostLogLine); ; {
		line, cut, err := lines.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		taken.line(plain.Line(scrub.Text(string(line)))) // whoever matches sees no more than is shown
		for cut && err == nil {
			_, cut, err = lines.ReadLine()
		}
	}
}

// taking goes through one node's lines.
type taking struct {
	out    *LogsAnswer
	node   string
	logs   keeper.Logs
	match  *regexp.Regexp
	from   int      // matches before it were answered already
	before []string // the last lines that were not shown, as many as may be context
	after  int      // lines that are still context of the last match
}

func (t *taking) line(text string) {
	level := levelOf(text)
	if text != "" && (t.logs.Level == "" || atLeast(level, t.logs.Level)) && t.match.MatchString(text) && t.matched(level) {
		for _, line := range t.before {
			t.show(line)
		}
		t.show(text)
		t.before, t.after = nil, t.logs.Context
		return
	}
	if t.after > 0 {
		t.after--
		t.show(text)
		return
	}
	if t.before = append(t.before, text); len(t.before) > t.logs.Context {
		t.before = t.before[1:]
	}
}

// matched counts a match, and reports whether it is to be shown.
func (t *taking) matched(level string) bool {
	t.out.Total++
	t.out.Levels[level]++
	if t.out.Total <= t.from {
		return false
	}
	if len(t.out.Lines) < max(t.logs.Limit, 1) {
		return true
	}
	if t.out.Next == "" {
		t.out.Next = strconv.Itoa(t.out.Total - 1)
	}
	return false
}

func (t *taking) show(line string) {
	t.out.Lines = append(t.out.Lines, LogLine{Node: t.node, Level: levelOf(line), Text: line})
}

// logFiles are a run's logs by node, those of its clients' drivers among them.
func logFiles(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(filepath.Join(evidence(dir), "logs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("run %s left no logs; get_run with view journal shows how far it came", runID(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("read the logs of run %s: %w", runID(dir), err)
	}
	files := map[string]string{}
	for _, e := range entries {
		if name, isLog := strings.CutSuffix(e.Name(), ".log"); isLog && e.Type().IsRegular() && stored.IsID(name) {
			files[name] = filepath.Join(evidence(dir), "logs", e.Name())
		}
	}
	return files, nil
}
