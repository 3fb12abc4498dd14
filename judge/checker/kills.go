package checker

import (
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// kills are the times at which a fault of ours killed a node, with what it held only in memory.
// An orderly stop is no kill. A loss breaks the protocol all the same; it is expected if the
// broker's vendor does not promise to keep what was lost.
type kills struct {
	forgets bool // the vendor is known not to promise that what was acknowledged outlives a node
	at      []int64
}

func (k *kills) add(e exit) {
	const sigkill = 9
	if e.cause == byUs && e.signal == sigkill {
		k.at = append(k.at, e.at)
	}
}

// took reports whether a node was killed between two times, and was expected to lose what it
// then held.
func (k *kills) took(from, to int64) bool {
	return k.forgets && slices.ContainsFunc(k.at, func(at int64) bool { return from <= at && at <= to })
}

// expected says why every violation of a failed result was to be expected, "" if one was not.
func (e *Entry) expected(r verdict.Result, run *history.Run) string {
	if r.Status != verdict.Fail || r.Promised || len(r.Violations) == 0 ||
		slices.ContainsFunc(r.Violations, func(v verdict.Violations) bool { return !v.Expected }) {
		return ""
	}
	what := "acknowledged messages"
	if e.Rests == history.PromiseSessions {
		what = "sessions"
	}
	return fmt.Sprintf("%s does not promise to keep %s when its process is killed", run.Cluster.Flavor, what)
}
