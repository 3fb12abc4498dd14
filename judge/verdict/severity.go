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
)

// Severity is the worst of the failed results, P0 to P3, "" of none.
func Severity(failed []Result) string {
	worst := ""
	for _, r := range failed {
		if s := r.Claim.severity(); worst == "" || s < worst {
			worst = s
		}
	}
	return worst
}

// Severest returns the names of the failed claims that are as severe as the verdict, nil
// where no other claim failed.
func (v Verdict) Severest() (names []string) {
	failed := failures(v.Results)
	if len(failed) < 2 {
		return nil
	}
	for _, r := range failed {
		if r.Claim.severity() == failed[0].Claim.severity() {
			names = append(names, r.Claim.Name)
		}
	}
	return names
}

// severity is the claim's. Verdicts that were written before claims had one do not
// say it.
func (c Claim) severity() string { return cmp.Or(c.Severity, P2) }

// bySeverity puts the worst first, those of one severity as they came.
func bySeverity(results []Result) []Result {
	slices.SortStableFunc(results, func(a, b Result) int { return cmp.Compare(a.Claim.severity(), b.Claim.severity()) })
	return results
}
