package finding

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

// PartsFile parts findings, as [ParseParts] reads it. It is beside the runs.
const PartsFile = "findings.parts"

// Load makes the findings of a state directory, of a copy that was published, or of a
// folder of runs. It reads the summary alone where a run did not fail.
func Load(root string) ([]Finding, error) {
	rows, err := reports.List(root, reports.Filter{})
	if err != nil {
		return nil, err
	}
	runs := make([]Run, len(rows))
	for i, row := range rows {
		runs[i].Row = row
		if !row.State.Failed() {
			continue
		}
		if runs[i].Report, err = reports.ReadReport(row.Dir); err != nil {
			return nil, fmt.Errorf("make findings: %w", err)
		}
	}
	path := filepath.Join(root, PartsFile)
	text, err := stored.ReadFile(path, stored.MostText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("make findings: %w", err)
	}
	parts, err := ParseParts(string(text))
	if err != nil {
		return nil, fmt.Errorf("make findings: %s: %w", path, err)
	}
	return Make(runs, parts), nil
}
