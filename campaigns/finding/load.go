package finding

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/reports"
)

// Load reads the runs of a state directory, of a copy that was published, or of a folder
// of runs. It reads the summary alone where a run did not fail.
func Load(root string) ([]Run, error) {
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
	return runs, nil
}
