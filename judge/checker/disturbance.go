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
		if by := e.disturbedBy(run, nil, landings); err == nil && by.why != "" {
			out.NotClaimed[claim] = by.why
		}
		return out.NotClaimed[claim] != ""
	})
	return &out
}

// A disturbance is a fault that may explain a violation of a claim, from a time on.
type disturbance struct {
	fault, why string // none where why is ""
	from       int64
	planned    bool
}

func (s disturbance) String() string {
	if s.planned {
		return sentence("%s may have done it: %s", s.fault, s.why)
	}
	return sentence("%s was injected by hand, and it may be its doing: %s", s.fault, s.why)
}

// byOurs returns a fault of ours that may explain a violation of a claim. Nobody planned it,
// or it took all copies of the data. Other planned faults were known when the claim was
// asked.
func (e Entry) byOurs(run *history.Run, landings []history.Landing) disturbance {
	if by := e.disturbedBy(run, run.Faults, landings); by.why != "" || e.Unjudged == nil {
		return by
	}
	for _, l := range landings {
		c := Circumstances{Nodes: run.Cluster.Nodes, Faults: []history.PlannedFault{{Type: l.Type, Target: l.Target}}}
		if why := oneCopy(c); why != "" && l.Times.StartNS() > 0 && e.Unjudged(c) == why {
			return disturbance{called(l), why, l.Times.StartNS(), true}
		}
	}
	return disturbance{}
}

// disturbedBy returns the first fault whose type or target keeps a claim from being judged.
// Those that are known are not looked at.
func (e Entry) disturbedBy(run *history.Run, known []history.PlannedFault, landings []history.Landing) disturbance {
	c := Circumstances{Nodes: run.Cluster.Nodes, Faults: append([]history.PlannedFault{{}}, known...)}
	anyway := e.unjudged(c) // under whatever fault
	for _, l := range landings {
		if l.Times.StartNS() == 0 {
			continue // nothing of it was done
		}
		c.Faults = append(c.Faults, history.PlannedFault{Type: l.Type, Target: l.Target})
		if why := e.unjudged(c); why != anyway {
			return disturbance{called(l), why, l.Times.StartNS(), false}
		}
	}
	return disturbance{}
}
