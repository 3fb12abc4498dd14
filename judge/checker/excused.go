package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// besides is a run without the claims beside that a fault of ours spoils, planned or
// by hand.
func besides(run *history.Run, landings []history.Landing) *history.Run {
	if len(run.Beside) == 0 {
		return run
	}
	out := *run
	out.NotClaimed = maps.Clone(run.NotClaimed)
	if out.NotClaimed == nil {
		out.NotClaimed = map[string]string{}
	}
	for _, claim := range run.Beside {
		e, err := Find(claim)
		for _, l := range landings {
			if why := e.Excused[l.Type]; err == nil && why != "" {
				out.NotClaimed[claim] = why
			}
		}
	}
	out.Beside = slices.DeleteFunc(slices.Clone(run.Beside), func(claim string) bool {
		_, not := out.NotClaimed[claim]
		return not
	})
	return &out
}
