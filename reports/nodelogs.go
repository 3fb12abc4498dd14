package reports

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// mostLogLine is how much of a log line is looked at, in bytes.
const mostLogLine = 64 << 10

// A logReader begins a node's log, which has a path in the run directory. It returns a function
// for each line, numbered from 1, and a function for the end.
type logReader func(node, log string) (line func(n int, text string), end func())

// readLogs reads the nodes' logs of a run directory once, for all readers. A node that never
// ran has no log.
func readLogs(dir string, nodes []history.Node, readers ...logReader) error {
	for _, node := range nodes {
		if !stored.IsID(node.Name) { // it becomes part of a path
			continue
		}
		log := filepath.ToSlash(filepath.Join(EvidenceDir, LogsDir, node.Name+".log"))
		var lines []func(n int, text string)
		var ends []func()
		for _, r := range readers {
			line, end := r(node.Name, log)
			lines, ends = append(lines, line), append(ends, end)
		}
		n := 0
		err := stored.Lines(filepath.Join(dir, log), mostLogLine, func(raw string) {
			n++
			text := plain.Text(raw)
			for _, line := range lines {
				line(n, text)
			}
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, end := range ends {
			end()
		}
	}
	return nil
}
