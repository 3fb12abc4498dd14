package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// spoils are the claims that say nothing of the broker while a fault of ours is in
// place, where nobody asks them, by the type of the fault.
var spoils = [...]struct {
	faults, claims []string
	why            string
}{
	{[]string{"memory", "pids"}, []string{"no-panic", "no-exit"}, "a process that gets no memory or no thread may end"},
	{[]string{"bit_rot"}, []string{"no-corruption"}, "the fault changes what is stored"},
	{[]string{"packet_duplicate"}, []string{"qos0-at-most-once", "qos1-dup-flag", "order-per-stream", "retained-register"}, "packet_duplicate makes one message two to the broker"},
	{[]string{"packet_drop", "packet_delay", "packet_mutate", "packet_truncate", "half_open"}, []string{"delivery-progress"}, "a broker need not send again on one connection what the tap withheld"},
	{[]string{"packet_drop"}, []string{"order-per-stream", "retained-register"}, "a message that never came is sent again later"},
}

// Spoiled are the claims that a fault makes worthless where nobody asks them, each
// with why.
func Spoiled(fault string) map[string]string {
	claims := map[string]string{}
	for _, s := range spoils {
		if !slices.Contains(s.faults, fault) {
			continue
		}
		for _, claim := range s.claims {
			claims[claim] = s.why
		}
	}
	return claims
}

// besides is a run without the claims beside that a fault of ours spoils, planned or
// by hand.
func besides(run *history.Run, landings []history.Landing) *history.Run {
	if len(run.Beside) == 0 {
		return run
	}
	out := *run
	out.NotClaimed = maps.Clone(run.NotClaimed)
	if out.NotClaimed == nil {
		out.NotClaimed = map[string]string{}
	}
	for _, l := range landings {
		for claim, why := range Spoiled(l.Type) {
			if slices.Contains(run.Beside, claim) {
				out.NotClaimed[claim] = why
			}
		}
	}
	out.Beside = slices.DeleteFunc(slices.Clone(run.Beside), func(claim string) bool {
		_, not := out.NotClaimed[claim]
		return not
	})
	return &out
}
