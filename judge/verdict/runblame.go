package verdict

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// blame says whose doing a failure is: a party, a colon, and why. It is the
// wire's word, a node's own log that says it panicked, or its end, and never a guess. Where the wire shows the broker and the client
// library at fault, each for some of it, it names the broker first and the library
// beside it. Where the wire does not tell of all of it, blame is unknown, with what
// would decide it.
func blame(in Input, failed []Result) string {
	whose := charges(failed)
	_, undecided := whose[Undecided]
	sdk, bySDK := whose[SDK]
	broker, byBroker := whose[Broker]
	switch starved := bySDK && in.Coverage.HostStarvedS > MaxStarvedS; {
	case starved && !undecided: // which makes a library late
		return say(Undecided, "pending a run on a host that is not starved")
	case bySDK && len(whose) == 1: // whatever the harness lacks then
		return sdk.against(SDK, library(in.Run))
	case len(in.Harness) > 0:
		return say(Undecided, "pending a run without harness errors")
	case byBroker && len(whose) == 1:
		return broker.against(Broker, tested(in.Run))
	case byBroker && bySDK && !undecided:
		return broker.against(Broker, tested(in.Run)) + "; beside it " + sdk.against(SDK, library(in.Run))
	case in.Run != nil && in.Run.Wire:
		return say(Undecided, "the recorded packets do not show who is at fault for all of it; pending "+elsewhere)
	case in.Run != nil && in.Run.Protocol != contract.MQ9:
		return say(Undecided, "pending "+elsewhere+"; with the wire recorded (arm: tap) it may tell at once")
	}
	return say(Undecided, "pending "+elsewhere)
}

// elsewhere names the runs that would decide it without the wire.
const elsewhere = "the same scenario with another SDK and on another broker (rmq-mcp blame, or replay_run with blame, makes them)"

func say(p Party, why string) string { return fmt.Sprintf("%s: %s", p, why) }

// A charge is the first violation of one party: the source of the claim, and what
// happened.
type charge struct{ source, text string }

func (c charge) against(p Party, name string) string {
	return fmt.Sprintf("%s: %s, by %s: %s", p, name, c.source, c.text)
}

// charges returns the first charge against each party that the wire blames for a
// failure. A failed claim on the client library is always the library's doing. The outage after an exit
// of a node is the doing of the broker. Any other violation is nobody's where no anomaly
// names a party.
func charges(failed []Result) map[Party]charge {
	ended := firstExit(failed)
	whose := map[Party]charge{}
	note := func(p Party, r Result, text string) {
		p = cmp.Or(p, Undecided)
		if _, known := whose[p]; !known {
			whose[p] = charge{r.Claim.Source, text}
		}
	}
	for _, r := range failed {
		if len(r.Anomalies) == 0 {
			note(r.Claim.Of, r, r.Summary)
		}
		for _, a := range r.Anomalies {
			if a.Kind == KindPanic || a.Kind == KindExit || a.Blame == "" && r.Claim.Source == Budget && a.TimeNS >= ended-int64(time.Second) {
				a.Blame = Broker
			}
			note(cmp.Or(r.Claim.Of, a.Blame), r, a.Text)
		}
	}
	return whose
}

// firstExit returns when a node first ended by itself.
func firstExit(failed []Result) int64 {
	first := int64(math.MaxInt64)
	for _, r := range failed {
		for _, a := range r.Anomalies {
			if a.Kind == KindExit {
				first = min(first, a.TimeNS)
			}
		}
	}
	return first
}

// tested names the broker of a run, with the defect that rmq-mcp planted: that is not the
// vendor's.
func tested(run *history.Run) string {
	if run == nil || run.Cluster.Planted == "" {
		return vendor(run)
	}
	return fmt.Sprintf("%s with %s planted", vendor(run), run.Cluster.Planted)
}

// library names the client library of a run.
func library(run *history.Run) string {
	if run == nil || run.SDK == "" {
		return "the client library"
	}
	return run.SDK
}
