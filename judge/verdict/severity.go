package verdict

import (
	"cmp"
	"slices"
)

// The severities of a violated claim.
const (
	P0 = "P0" // something promised safe is gone, wrong or doubled
	P1 = "P1" // the broker is not there, or stale
	P2 = "P2" // it is there, but not as promised
	P3 = "P3" // no harm done

	// Expected is the severity of a violation that the vendor does not promise to prevent: a
	// killed process loses what it had not saved. It is the least, and sorts behind P3.
	Expected = "expected"
)

// Severity is the worst of the failed results, P0 to P3 or expected, "" of none.
func Severity(failed []Result) string {
	worst := ""
	for _, r := range failed {
		if s := r.severity(); worst == "" || s < worst {
			worst = s
		}
	}
	return worst
}

// Failed returns the names of the failed claims, the worst first.
func (v Verdict) Failed() (names []string) {
	for _, r := range failures(v.Results) {
		names = append(names, r.Claim.Name)
	}
	return names
}

// Severest returns the names of the failed claims that are as severe as the verdict, nil
// where no other claim failed.
func (v Verdict) Severest() (names []string) {
	failed := failures(v.Results)
	if len(failed) < 2 {
		return nil
	}
	for _, r := range failed {
		if r.severity() == failed[0].severity() {
			names = append(names, r.Claim.Name)
		}
	}
	return names
}

// severity is the claim's, which verdicts of older versions lack.
func (r Result) severity() string {
	if r.Expected != "" {
		return Expected
	}
	return cmp.Or(r.Claim.Severity, P2)
}

// bySeverity puts the worst first, those of one severity as they came.
func bySeverity(results []Result) []Result {
	slices.SortStableFunc(results, func(a, b Result) int { return cmp.Compare(a.severity(), b.severity()) })
	return results
}
