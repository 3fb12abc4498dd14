package finding

import (
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// panics are the panics of the run by place.
func (r Run) panics() (list []violation) {
	at := map[string]int{}
	for _, p := range r.Report.Panics {
		place := p.Place()
		i, known := at[place]
		if !known {
			i, at[place] = len(list), len(list)
			list = append(list, violation{kind: verdict.KindPanic, place: place, example: panicText(p)})
		}
		list[i].count += p.Count
	}
	return list
}

func panicText(p reports.Panic) string {
	text := strings.Join(p.Nodes[:min(len(p.Nodes), 1)], "") + " panicked"
	if p.File != "" {
		text += fmt.Sprintf(" at %s:%d", p.Place(), p.Line) // not where somebody built it
	}
	if p.Message != "" {
		text += ": " + strings.TrimSuffix(p.Message, ".")
	}
	return fmt.Sprintf("%s (%s, line %d)", text, p.Log, p.LogLine)
}
