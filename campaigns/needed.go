package campaigns

import (
	"math"

	"github.com/robustmq/rmq-mcp/reports"
)

// chance is the probability that is left that a failure is still there, as often as before.
const chance = 0.05

// leastRuns is how many runs without a failure its absence takes, however often it came.
const leastRuns = 3

// Needed is how many runs in a row must not show a failure that came so often before, so
// that this is chance in one of twenty cases. The rate is estimated by Laplace's rule of
// succession: (failed+1) of (runs+2).
func Needed(before reports.Times) int {
	rate := float64(before.Failed+1) / float64(before.Of+2)
	return max(leastRuns, int(math.Ceil(math.Log(chance)/math.Log(1-rate))))
}

// controlsLacking is how many runs on the control broker must hold a claim beside those that
// did, before the failures of subjects can be the broker's doing: one that comes now and then
// stays away from a single run by chance.
func (c *sdkRuns) controlsLacking(of []*subject, claim string) int {
	failed, all := counted(of, claim)
	held := 0
	for _, s := range c.controls.subjects {
		for _, cell := range s.attempts() {
			if cell.passes(claim) {
				held++
			}
		}
	}
	return max(0, Needed(reports.Times{Failed: failed, Of: all})-held)
}
