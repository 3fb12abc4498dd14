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
	{"mq9-no-loss", "P0"},
	{"shared-no-loss", "P0"},
	{"qos2-exactly-once", "P0"},
	{"no-corruption", "P0"},
	{"no-unexpected", "P0"},
	{"sdk-delivers", "P0"},
	{"broker-qos2-flow", "P0"},
	{"will-once", "P1"},
	{"progress", "P1"},
	{"recovery", "P1"},
	{"no-panic", "P1"},
	{"no-exit", "P1"},
	{"retained-register", "P1"},
	{"broker-acks", "P1"},
	{"sdk-honest", "P1"},
	{"sdk-lives", "P1"},
	{"sdk-resubscribes", "P1"},
	{"sdk-once", "P1"},
	{"sdk-qos2-flow", "P1"},
	{"order-per-stream", "P2"},
	{"mq9-priority", "P2"},
	{"mq9-message-ttl", "P2"},
	{"mq9-mailbox-ttl", "P2"},
	{"session-kept", "P2"},
	{"session-expiry", "P2"},
	{"shared-one-member", "P2"},
	{"qos0-at-most-once", "P2"},
	{"no-leak", "P2"},
	{"steady-resources", "P2"},
	{"qos1-dup-flag", "P3"},
	{"broker-resend-dup", "P3"},
	{"sdk-resend-dup", "P3"},
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
