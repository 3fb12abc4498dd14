package reports

import (
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// nodeTable is deliveries by publisher's node and subscriber's, the first row its head;
// nil where there is one node.
func nodeTable(pairs []verdict.NodePair, lost string) [][]string {
	var to []string
	for _, p := range pairs {
		if !slices.Contains(to, p.To) {
			to = append(to, p.To)
		}
	}
	if len(pairs) < 2 {
		return nil
	}
	rows := [][]string{append([]string{"Published at"}, to...)}
	for _, p := range pairs {
		if last := rows[len(rows)-1]; len(rows) == 1 || last[0] != p.From {
			rows = append(rows, append([]string{p.From}, make([]string, len(to))...))
		}
		text := fmt.Sprintf("%s, silent %.1f s", thousands(p.Delivered), p.SilentS)
		if p.Lost > 0 {
			text += fmt.Sprintf(", %s %s", thousands(p.Lost), lost)
		}
		rows[len(rows)-1][1+slices.Index(to, p.To)] = text
	}
	return rows
}
