package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// KindLost is the kind of violation that is an acknowledged message which never came.
const KindLost = "lost"

// ProvesLoss reports whether a claim failed because messages are missing. Else it returns
// why those that are missing prove no loss.
func ProvesLoss(results []Result) (proven bool, why string) {
	for _, r := range results {
		if !r.lacks() {
			continue
		}
		if r.Status == Fail {
			return true, ""
		}
		why = cmp.Or(why, fmt.Sprintf("%s is %s: %s", r.Claim.Name, r.Status, strings.Join(r.Reasons, "; ")))
	}
	return false, cmp.Or(why, "no claim that this run is held to is about them")
}

// lacks reports whether the result is about missing messages. Those of old runs have no
// counts by kind.
func (r Result) lacks() bool {
	return slices.ContainsFunc(r.Violations, func(v Violations) bool { return v.Kind == KindLost }) ||
		slices.ContainsFunc(r.Anomalies, func(a Anomaly) bool { return a.Kind == KindLost })
}
