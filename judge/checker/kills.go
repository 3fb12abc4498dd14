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
	forgets  bool // the vendor is known not to promise that what was acknowledged outlives a node
	sessions bool // or that sessions do
	at       []int64
}

// newKills reads the promises of a broker.
func newKills(c history.ClusterInfo) kills {
	if c.Flavor == "" || c.Lacks[history.LacksPromises] != "" {
		return kills{}
	}
	forgets := !slices.Contains(c.Promises, claimQoS2ExactlyOnce.Claim.Name)
	return kills{forgets: forgets, sessions: forgets || !slices.Contains(c.Promises, claimSessionKept.Claim.Name)}
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
	return k.forgets && k.between(from, to)
}

// tookSession is took for a session.
func (k *kills) tookSession(from, to int64) bool {
	return k.sessions && k.between(from, to)
}

func (k *kills) between(from, to int64) bool {
	return slices.ContainsFunc(k.at, func(at int64) bool { return from <= at && at <= to })
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
