package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/keeper"
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
		text, err := os.ReadFile(files[node])
		if err != nil {
			return out, fmt.Errorf("read the log of %s: %w", node, err)
		}
		out.take(node, strings.Split(strings.TrimRight(string(text), "\n"), "\n"), q, match, from)
	}
	return out, nil
}

// take adds one node's lines that match, from the match on that is asked for.
func (out *LogsAnswer) take(node string, lines []string, q keeper.Logs, match *regexp.Regexp, from int) {
	shown := -1
	for i, line := range lines {
		level := levelOf(line)
		if line == "" || q.Level != "" && !atLeast(level, q.Level) || !match.MatchString(line) {
			continue
		}
		out.Total++
		out.Levels[level]++
		if out.Total <= from {
			continue
		}
		if len(out.Lines) >= max(q.Limit, 1) {
			if out.Next == "" {
				out.Next = strconv.Itoa(out.Total - 1)
			}
			continue
		}
		for j := max(shown+1, i-q.Context); j <= min(len(lines)-1, i+q.Context); j++ {
			out.Lines = append(out.Lines, LogLine{Node: node, Level: levelOf(lines[j]), Text: lines[j]})
			shown = j
		}
	}
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
		if name, isLog := strings.CutSuffix(e.Name(), ".log"); isLog && e.Type().IsRegular() {
			files[name] = filepath.Join(evidence(dir), "logs", e.Name())
		}
	}
	return files, nil
}
