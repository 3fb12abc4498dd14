package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// KindLost is the kind of violation that is an acknowledged message which never came.
const KindLost = "lost"

// ProvesLoss reports whether a claim failed because messages are missing, of which there
// are so many in all. It returns why those that no failed claim misses prove no loss.
func ProvesLoss(results []Result, missing int64) (proven bool, why string) {
	for _, r := range results {
		switch {
		case !r.lacks():
		case r.Status == Fail:
			proven = true
			missing = max(0, missing-r.lost()) // two old results would overflow
		default:
			why = cmp.Or(why, fmt.Sprintf("%s is %s: %s", r.Claim.Name, r.Status, strings.Join(r.Reasons, "; ")))
		}
	}
	if proven && missing <= 0 {
		return true, ""
	}
	return proven, cmp.Or(why, "no claim that this run is held to is about them")
}

// lost counts the missing messages of a result. In old runs, which have no counts by kind,
// they are all that there are.
func (r Result) lost() (n int64) {
	if len(r.Violations) == 0 {
		return math.MaxInt64
	}
	for _, v := range r.Violations {
		if v.Kind == KindLost {
			n += v.Count
		}
	}
	return n
}

// lacks reports whether the result is about missing messages. Those of old runs have no
// counts by kind.
func (r Result) lacks() bool {
	return slices.ContainsFunc(r.Violations, func(v Violations) bool { return v.Kind == KindLost }) ||
		slices.ContainsFunc(r.Anomalies, func(a Anomaly) bool { return a.Kind == KindLost })
}
