package verdict

import "slices"

// Severities of a violated claim: P0 what was promised safe is gone, wrong or
// twice; P1 the broker is not there, or stale; P2 it is there, but not as
// promised; P3 no harm done. A claim that is not listed counts as P2.
var severities = [...]struct {
	Claim    string
	Severity string
}{
	{"qos1-no-loss", "P0"},
	{"qos2-no-loss", "P0"},
	{"qos2-exactly-once", "P0"},
	{"no-corruption", "P0"},
	{"no-unexpected", "P0"},
	{"progress", "P1"},
	{"recovery", "P1"},
	{"no-panic", "P1"},
	{"retained-register", "P1"},
	{"order-per-stream", "P2"},
	{"session-kept", "P2"},
	{"qos0-at-most-once", "P2"},
	{"qos1-dup-flag", "P3"},
}

// Severity is the worst of the failed results, P0 to P3, "" of none.
func Severity(failed []Result) string {
	worst := ""
	for _, r := range failed {
		if s := severityOf(r.Claim.Name); worst == "" || s < worst {
			worst = s
		}
	}
	return worst
}

func severityOf(claim string) string {
	for _, row := range severities {
		if row.Claim == claim {
			return row.Severity
		}
	}
	return "P2"
}

// bySeverity puts the worst first, those of one severity as they came.
func bySeverity(results []Result) []Result {
	slices.SortStableFunc(results, func(a, b Result) int {
		x, y := severityOf(a.Claim.Name), severityOf(b.Claim.Name)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return results
}

// Blame says where the cause of a failure lies, as far as one run can tell:
// it never guesses, it names the next step.
func Blame(failed []Result, harness []string) string {
	switch {
	case len(failed) == 0:
		return ""
	case len(harness) > 0:
		return "unknown: pending a run without harness errors"
	}
	return "unknown: pending a repetition with the same seed, then the same scenario with another SDK and on the reference broker"
}
