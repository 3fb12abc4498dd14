package verdict

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/history"
)

// blame says whose doing a failure is: a party, a colon, and why. It is the
// wire's word and never a guess. Where the wire does not tell, or tells of
// several parties, it is unknown, with what would decide it.
func blame(in Input, failed []Result) string {
	parties := partiesOf(failed)
	switch sdk := len(parties) == 1 && parties[0] == SDK; {
	case sdk && in.Coverage.HostStarvedS > MaxStarvedS: // which makes a library late
		return say(Undecided, "pending a run on a host that is not starved")
	case sdk: // whatever the harness lacks then
		return fmt.Sprintf("%s: %s, by %s: %s", SDK, library(in.Run), failed[0].Claim.Source, evidence(failed))
	case len(in.Harness) > 0:
		return say(Undecided, "pending a run without harness errors")
	case len(parties) == 1 && parties[0] == Broker:
		return fmt.Sprintf("%s: %s, by %s: %s", Broker, vendor(in.Run), failed[0].Claim.Source, evidence(failed))
	case len(parties) > 1 && !slices.Contains(parties, Undecided):
		return say(Undecided, "the wire shows the client library and the broker at fault, each for some of it: see the blame of each anomaly; the same scenario with another SDK and on the reference broker tells them apart")
	case in.Run != nil && in.Run.Wire:
		return say(Undecided, "the wire does not tell whose doing all of it is; pending "+elsewhere)
	case in.Run != nil && in.Run.Protocol != "mq9":
		return say(Undecided, "pending "+elsewhere+"; with the wire recorded (arm: tap) it may tell at once")
	}
	return say(Undecided, "pending "+elsewhere)
}

// elsewhere is what would decide it without the wire.
const elsewhere = "the same scenario with another SDK and on the reference broker (rmq-mcp blame, or replay_run with blame, makes them)"

func say(p Party, why string) string { return fmt.Sprintf("%s: %s", p, why) }

// partiesOf are those whom the wire blames for anything that failed. A claim on
// the client library is only ever its own doing; of another, what no anomaly
// shows is nobody's.
func partiesOf(failed []Result) (parties []Party) {
	note := func(p Party) {
		if p = cmp.Or(p, Undecided); !slices.Contains(parties, p) {
			parties = append(parties, p)
		}
	}
	for _, r := range failed {
		switch {
		case r.Claim.Of == SDK:
			note(SDK)
		case len(r.Anomalies) == 0:
			note(Undecided)
		}
		for _, a := range r.Anomalies {
			if r.Claim.Of != SDK {
				note(a.Blame)
			}
		}
	}
	return parties
}

// evidence is the first violation in words.
func evidence(failed []Result) string {
	for _, r := range failed {
		if len(r.Anomalies) > 0 {
			return r.Anomalies[0].Text
		}
	}
	return failed[0].Summary
}

// library names the client library of a run.
func library(run *history.Run) string {
	if run == nil || run.SDK == "" {
		return "the client library"
	}
	return run.SDK
}
