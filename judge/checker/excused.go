package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

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
	out.Beside = slices.DeleteFunc(slices.Clone(run.Beside), func(claim string) bool {
		e, err := Find(claim)
		if _, why := e.spoilt(run, nil, landings); err == nil && why != "" {
			out.NotClaimed[claim] = why
		}
		return out.NotClaimed[claim] != ""
	})
	return &out
}

// byOurs says which fault of ours that nobody planned may explain a violation of a claim,
// and why; "" for none. The planned ones were known when the claim was asked.
func (e Entry) byOurs(run *history.Run, landings []history.Landing) string {
	fault, why := e.spoilt(run, run.Faults, landings)
	if why == "" {
		return ""
	}
	return sentence("%s was injected by hand, and it may be its doing: %s", fault, why)
}

// spoilt returns the first fault whose type or target is why nobody is judged by a claim, and the
// reason; "" for none. Those that are known are not looked at.
func (e Entry) spoilt(run *history.Run, known []history.PlannedFault, landings []history.Landing) (fault, why string) {
	c := Circumstances{Nodes: run.Cluster.Nodes, Faults: append([]history.PlannedFault{{}}, known...)}
	anyway := e.unjudged(c) // under whatever fault
	for _, l := range landings {
		if l.Times.StartNS() == 0 {
			continue // nothing of it was done
		}
		c.Faults = append(c.Faults, history.PlannedFault{Type: l.Type, Target: l.Target})
		if why := e.unjudged(c); why != anyway {
			return called(l), why
		}
	}
	return "", ""
}
