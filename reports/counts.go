package reports

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// Counts reports whether the run counts, whatever it shows ([verdict.Counts]). Older reports
// have no shortfalls: of these only runs that passed or failed count.
func (r *Report) Counts() bool {
	if len(r.Shortfalls) > 0 {
		return verdict.Counts(r.Shortfalls)
	}
	if Class(r.Verdict.State) == "unclear" {
		return false
	}
	missed := slices.ContainsFunc(r.Landings, func(l history.Landing) bool { return l.State != history.Landed })
	c := r.Coverage
	return !missed && c.HostStarvedS <= verdict.MaxStarvedS && len(r.Harness) == 0 && len(c.Idle)+len(c.Gone)+len(c.Ended) == 0 && len(r.Complete.Why) == 0
}

// Holds reports whether a claim that passes in the run was held ([verdict.Holds]).
func (r *Report) Holds() bool { return r.Counts() && verdict.Holds(r.Shortfalls) }
