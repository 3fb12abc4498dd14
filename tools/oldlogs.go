package tools

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

// recordedLogs answers from the log files that a finished run left.
func recordedLogs(dir string, q keeper.Logs) (LogsAnswer, error) {
	out := LogsAnswer{RunID: runID(dir), Levels: map[string]int{}}
	if q.FromS > 0 || q.ToS > 0 {
		return out, fmt.Errorf("get_logs: run %s is over, and its lines have only the broker's own clock; leave time_range out and use match, such as the time that a line begins with", out.RunID)
	}
	page, err := loglines.NewPage(q.Query)
	if err != nil {
		return out, fmt.Errorf("get_logs: %w", err)
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
		if err := takeFile(page, node, files[node]); err != nil {
			return out, fmt.Errorf("read the log of %s: %w", node, err)
		}
	}
	out.Total, out.Levels, out.Next = page.Total, page.Levels, page.Next
	for _, l := range page.Lines {
		out.Lines = append(out.Lines, LogLine{Node: l.Node, Level: l.Level, Text: l.Text})
	}
	return out, nil
}

// mostLogLine is how much of a line is looked at, in bytes.
const mostLogLine = 64 << 10

// takeFile passes on the lines of one log, without secrets: whoever matches sees no
// more than is shown. A log may be of any size: it is read line by line.
func takeFile(page *loglines.Page, node, path string) error {
	scrub := secret.New()
	return stored.Lines(path, mostLogLine, func(line string) {
		text := plain.Line(scrub.Text(line))
		page.Take(loglines.Line{Node: node, Level: loglines.Level(text), Text: text})
	})
}

// logFiles are a run's logs by node, those of its clients' drivers among them.
func logFiles(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(filepath.Join(reports.Dir(dir).Evidence(), "logs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("run %s left no logs; get_run with view journal shows how far it came", runID(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("read the logs of run %s: %w", runID(dir), err)
	}
	files := map[string]string{}
	for _, e := range entries {
		file, _ := stored.Unpacked(e.Name())
		if name, isLog := strings.CutSuffix(file, ".log"); isLog && e.Type().IsRegular() && stored.IsID(name) {
			files[name] = filepath.Join(reports.Dir(dir).Evidence(), "logs", file)
		}
	}
	return files, nil
}
